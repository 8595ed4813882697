// The search page: the name of a claim leads to its card; excerpts of the pages come from one file, so that nothing is fetched.
(() => {
  "use strict";
  const { claims, pages } = window.BESTARM_SEARCH;
  const asked = (new URLSearchParams(location.search).get("q") ?? "").trim().toLowerCase();
  if (claims[asked]) location.replace(claims[asked]);
  const fetched = window.fetch;
  window.fetch = (address, ...rest) => {
    const text = pages[String(address).replace(/^(\.\/)+/, "").replace(/\.html$/, "")];
    if (text === undefined) return fetched(address, ...rest);
    const page = document.createElement("div");
    page.setAttribute("role", "main");
    page.textContent = text;
    return Promise.resolve({ text: () => Promise.resolve(page.outerHTML) });
  };
})();
