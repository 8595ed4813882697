# Everything as locked, on Python 3.11: docker build -t bestarm . && docker run --rm -it bestarm make test
# INDEX may name an index of CPU builds of Torch: docker build --build-arg INDEX="--extra-index-url <index>" -t bestarm .
FROM python:3.11-slim-bookworm
ARG INDEX=""
RUN apt-get update \
    && apt-get install --yes --no-install-recommends chromium git make g++ \
    && rm -rf /var/lib/apt/lists/*
RUN useradd --create-home reader
USER reader
WORKDIR /home/reader/bestarm
COPY --chown=reader . .
RUN make setup PIP_ARGS="$INDEX"
ENV PATH="/home/reader/bestarm/.venv/bin:$PATH"
CMD ["bash"]
