"""Products of small matrices as LLVM vectors in registers: C[i, j] = sum over k of A[i, k] B[k, j].

An element of B and C is one vector of floats; an element of A is a vector, too, or one float that all lanes share. A
tile of C stays in registers until its sums are complete, and what is done with them (ReLU, its mask, a step of Adam)
is done there. Each lane of each element is one chain of fused multiply-adds in the order of k, with IEEE square roots
and divisions, so the result depends neither on the width of the processor's vectors nor on the size of a tile.

Addresses and strides are in bytes, and nothing checks them: callers (`fused_lanes`, `fused_units`, `fused_predict`)
compute all of them from the shape of a network.
"""

import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.registry import cpu_target
from numba.extending import intrinsic
from numpy.typing import NDArray

BETA_1, BETA_2, EPSILON = 0.9, 0.999, 1e-8
SMALLEST = 2.0**-100  # smaller averages of Adam are 0; they move no weight by 1e-17 and soon cost 100 cycles each
_FILES = sorted(Path(__file__).parent.glob("fused_*.py"))
TEXT = zlib.crc32(b"".join(file.read_bytes() for file in _FILES))
"""A default argument of each kernel: Numba's cache then knows the files that a kernel is made of."""

_PLAIN, _RELU, _MASK, _ADAM = range(4)
_ALONE = {16: ((5, 4, 3, 2, 1), (5, 2, 1)), 8: ((3, 2, 1), (4, 2, 1))}  # rows and columns of tiles, by lanes
_SHARED = {16: ((10, 5, 2, 1), (2, 1)), 8: ((6, 3, 2, 1), (2, 1))}
_I32, _I64, _F32 = ir.IntType(32), ir.IntType(64), ir.FloatType()

TRIPLE, PROCESSOR, _FEATURES = cpu_target.target_context.codegen().magic_tuple()
FEATURES = frozenset(_FEATURES.split(","))
LANES = (0,) * (16 if "+avx512f" in FEATURES else 8)
"""One element for each lane of a vector of this processor: its length is a part of a kernel's signature."""


def missing_instruction() -> str | None:
    """Return what this processor lacks, or None: without fused multiply-add each one would be a slow function call."""
    if TRIPLE.startswith(("aarch64", "arm64")) or "+fma" in FEATURES:
        return None
    return f"the processor ({PROCESSOR or TRIPLE}) has no fused multiply-add"


def check_lanes(lanes: tuple[int, ...]) -> None:
    """Refuse vectors that no tile is made for."""
    if len(lanes) not in _ALONE:
        raise ValueError(f"a vector must have {' or '.join(map(str, sorted(_ALONE)))} lanes, got {len(lanes)}.")


def aligned(n: int) -> NDArray[np.float32]:
    """Return n zeros that begin on a line of the cache."""
    whole = np.zeros(n + 16, dtype=np.float32)
    return whole[(-whole.ctypes.data % 64) // 4 :][:n]


class _Vectors:
    """What is emitted for vectors of some lanes."""

    def __init__(self, builder: Any, lanes: int) -> None:
        self.builder, self.lanes, self.kind = builder, lanes, ir.VectorType(_F32, lanes)

    def load(self, address: Any, kind: Any = None) -> Any:
        return self.builder.load(self.builder.inttoptr(address, (kind or self.kind).as_pointer()), align=4)

    def store(self, value: Any, address: Any) -> None:
        self.builder.store(value, self.builder.inttoptr(address, self.kind.as_pointer()), align=4)

    def spread(self, value: Any) -> Any:
        nothing = ir.Constant(self.kind, ir.Undefined)
        first = self.builder.insert_element(nothing, value, ir.Constant(_I32, 0))
        return self.builder.shuffle_vector(first, nothing, ir.Constant(ir.VectorType(_I32, self.lanes), None))

    def constant(self, value: float) -> Any:
        return ir.Constant(self.kind, [float(np.float32(value))] * self.lanes)

    def at(self, base: Any, *steps: tuple[int | Any, Any]) -> Any:
        """Return an address some strides behind another."""
        for n, stride in steps:
            count = ir.Constant(_I64, n) if isinstance(n, int) else n
            base = self.builder.add(base, self.builder.mul(count, stride))
        return base

    def call(self, name: str, *values: Any) -> Any:
        kind = ir.FunctionType(self.kind, [self.kind] * len(values))
        function = cgutils.get_or_insert_function(self.builder.module, kind, f"llvm.{name}.v{self.lanes}f32")
        return self.builder.call(function, values)

    def without_the_smallest(self, value: Any) -> Any:
        small = self.builder.fcmp_ordered("<", self.call("fabs", value), self.constant(SMALLEST))
        return self.builder.select(small, self.constant(0.0), value)

    def adam(self, gradient: Any, at: Any, gap: Any, rate: Any, scale: Any) -> Any:
        """Return the new parameters; Adam's averages m and v are one and two gaps behind the parameters."""
        builder, at_m, at_v = self.builder, self.at(at, (1, gap)), self.at(at, (2, gap))
        m, v = self.load(at_m), self.load(at_v)
        m = self.call("fma", builder.fsub(gradient, m), self.constant(1.0 - BETA_1), m)
        square = builder.fmul(builder.fmul(gradient, gradient), self.constant(1.0 - BETA_2))
        v = self.call("fma", v, self.constant(BETA_2), square)
        m, v = self.without_the_smallest(m), self.without_the_smallest(v)
        self.store(m, at_m)
        self.store(v, at_v)
        below = self.call("fma", self.call("sqrt", v), self.spread(scale), self.constant(EPSILON))
        return builder.fsub(self.load(at), builder.fdiv(builder.fmul(m, self.spread(rate)), below))

    @contextmanager
    def as_many(self, counter: Any, size: int, total: Any) -> Iterator[Any]:
        """Emit a loop over pieces of one size while they fit; gives what was done before the piece."""
        builder = self.builder
        head, body, after = (builder.append_basic_block(name) for name in ("pieces", "piece", "no_more"))
        builder.branch(head)
        builder.position_at_end(head)
        done = builder.load(counter)
        end = builder.add(done, ir.Constant(_I64, size))
        builder.cbranch(builder.icmp_signed("<=", end, total), body, after)
        builder.position_at_end(body)
        yield done
        builder.store(end, counter)
        builder.branch(head)
        builder.position_at_end(after)

    def sums(self, rows: int, columns: int, k: Any, a: Any, steps_a: Any, b: Any, steps_b: Any, shared: bool) -> Any:
        """Emit the loop over k of one tile and return its sums."""
        builder, (a_i, a_k), (b_k, b_j) = self.builder, steps_a, steps_b
        entry, loop, after = builder.block, builder.append_basic_block("k"), builder.append_basic_block("summed")
        builder.branch(loop)
        builder.position_at_end(loop)
        left, at_a, at_b = (builder.phi(_I64) for _ in range(3))
        sums = [[builder.phi(self.kind) for _ in range(columns)] for _ in range(rows)]
        right = [self.load(self.at(at_b, (j, b_j))) for j in range(columns)]
        new = []
        for i in range(rows):
            at = self.at(at_a, (i, a_i))
            factor = self.spread(self.load(at, _F32)) if shared else self.load(at)
            new.append([self.call("fma", factor, right[j], sums[i][j]) for j in range(columns)])
        less = builder.sub(left, ir.Constant(_I64, 1))
        pairs = [(left, k, less), (at_a, a, builder.add(at_a, a_k)), (at_b, b, builder.add(at_b, b_k))]
        pairs += [(sums[i][j], self.constant(0.0), new[i][j]) for i in range(rows) for j in range(columns)]
        for phi, first, later in pairs:
            phi.add_incoming(first, entry)
            phi.add_incoming(later, loop)
        builder.cbranch(builder.icmp_signed(">", less, ir.Constant(_I64, 0)), loop, after)
        builder.position_at_end(after)
        return new

    def finish(self, then: int, value: Any, at: Any, gap: Any, rate: Any, scale: Any) -> None:
        """Emit what is done with one complete sum (a ReLU passes NaN on, as Torch's does)."""
        zero = self.constant(0.0)
        if then == _RELU:
            value = self.builder.select(self.builder.fcmp_ordered("<", value, zero), zero, value)
        elif then == _MASK:
            active = self.builder.fcmp_unordered(">", self.load(self.at(at, (1, gap))), zero)
            value = self.builder.select(active, value, zero)
        elif then == _ADAM:
            value = self.adam(value, at, gap, rate, scale)
        self.store(value, at)


def _product(shared: bool, then: int) -> Any:
    """Return an intrinsic for a product of any shape, which takes the largest tile that fits again and again.

    Its arguments are the lanes; (rows, columns, k); (address, stride of i, stride of k) of A; (address, stride of k,
    stride of j) of B; (address, stride of i, stride of j) of C; and, for what is done with the sums, the gap from C to
    activations or to Adam's averages, Adam's rate and scale.
    """

    @intrinsic
    def product(typing, lanes, shape, left, right, result, gap, rate, scale):  # type: ignore[no-untyped-def]
        signature = types.void(lanes, shape, left, right, result, types.int64, types.float32, types.float32)

        def generate(context, builder, signature, args):  # type: ignore[no-untyped-def]
            (rows, columns, k), (a, a_i, a_k), (b, b_k, b_j), (c, c_i, c_j) = (
                cgutils.unpack_tuple(builder, values, 3) for values in args[1:5]
            )
            vectors = _Vectors(builder, lanes.count)
            row_sizes, column_sizes = (_SHARED if shared else _ALONE)[lanes.count]
            j_done, i_done = (cgutils.alloca_once(builder, _I64) for _ in range(2))
            builder.store(ir.Constant(_I64, 0), j_done)
            for n_columns in column_sizes:
                with vectors.as_many(j_done, n_columns, columns) as j:
                    builder.store(ir.Constant(_I64, 0), i_done)
                    for n_rows in row_sizes:
                        with vectors.as_many(i_done, n_rows, rows) as i:
                            at_a, at_b = vectors.at(a, (i, a_i)), vectors.at(b, (j, b_j))
                            sums = vectors.sums(n_rows, n_columns, k, at_a, (a_i, a_k), at_b, (b_k, b_j), shared)
                            corner = vectors.at(c, (i, c_i), (j, c_j))
                            for n, row in enumerate(sums):
                                for m, value in enumerate(row):
                                    vectors.finish(then, value, vectors.at(corner, (n, c_i), (m, c_j)), *args[5:])
            return context.get_dummy_value()

        return signature, generate

    return product


plain, relu, masked, adam = (_product(False, then) for then in (_PLAIN, _RELU, _MASK, _ADAM))
shared_plain, shared_relu, shared_masked, shared_adam = (_product(True, then) for then in (_PLAIN, _RELU, _MASK, _ADAM))


def _transpose(typing, lanes, source, stride, result, result_stride):  # type: ignore[no-untyped-def]
    """Transpose a square block of floats with as many rows as there are lanes, in registers."""

    def generate(context, builder, signature, args):  # type: ignore[no-untyped-def]
        n_lanes, (_, source, stride, result, result_stride) = lanes.count, args
        vectors = _Vectors(builder, n_lanes)
        rows = [vectors.load(vectors.at(source, (n, stride))) for n in range(n_lanes)]
        half = n_lanes // 2
        while half:
            low = [n if not n & half else n_lanes + n - half for n in range(n_lanes)]
            high = [n + half if not n & half else n_lanes + n for n in range(n_lanes)]
            masks = [ir.Constant(ir.VectorType(_I32, n_lanes), mask) for mask in (low, high)]
            for n in range(n_lanes):
                if not n & half:
                    pair = rows[n], rows[n + half]
                    rows[n], rows[n + half] = (builder.shuffle_vector(*pair, mask) for mask in masks)
            half //= 2
        for n, row in enumerate(rows):
            vectors.store(row, vectors.at(result, (n, result_stride)))
        return context.get_dummy_value()

    return types.void(lanes, *[types.int64] * 4), generate


transpose: Any = intrinsic(_transpose)
