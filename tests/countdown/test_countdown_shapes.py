"""The numbering of essentially different expressions: complete, and none twice."""

import numpy as np
import pytest
from countdown_brute import POINT, PRIME, at_point, expressions

from markscheme.countdown.evaluation import exact_dtype, program
from markscheme.countdown.shapes import Node, Shape, layout, shape

# OEIS A182173 counts expressions with unary minus, so each twice: half of 2, 10, 94, 1466, …
COUNTS = {1: 1, 2: 5, 3: 47, 4: 733, 5: 15907, 6: 443825, 7: 15129599, 8: 609432421}


def at_random_point(expression: Shape) -> int:
    """The value modulo a prime, up to sign."""
    if isinstance(expression, int):
        return POINT[expression]
    result = 0 if expression.op == "+" else 1
    for sign, part in expression.parts:
        value = at_random_point(part)
        if expression.op == "+":
            result += sign * value
        else:
            result *= pow(value, sign, PRIME)
    return result % PRIME


def up_to_sign(value: int) -> int:
    return min(value, PRIME - value)


@pytest.mark.parametrize(("size", "count"), COUNTS.items())
def test_layout_when_counted_then_agrees_with_the_published_sequence(size, count):
    assert layout(size).total == count


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5])
def test_shapes_when_all_listed_then_no_two_are_the_same_function(size):
    values = {up_to_sign(at_random_point(shape(size, number))) for number in range(layout(size).total)}
    assert len(values) == COUNTS[size]


@pytest.mark.parametrize("size", [2, 3, 4])
def test_shapes_when_compared_with_all_expressions_then_the_same_functions(size):
    # Numbers for which no expression divides by zero, so that brute force leaves none out.
    nums = [1009, 10007, 100003, 1000003][:size]
    brute = {up_to_sign(at_point(made.formula, POINT)) for made in expressions(nums)}
    assert brute == {up_to_sign(at_random_point(shape(size, number))) for number in range(layout(size).total)}


def test_shape_when_taken_apart_then_sums_hold_no_sums_and_products_no_products():
    def check(node: Shape) -> None:
        if isinstance(node, Node):
            assert len(node.parts) >= 2
            assert any(sign > 0 for sign, _ in node.parts)
            for _, part in node.parts:
                assert not (isinstance(part, Node) and part.op == node.op)
                check(part)

    for number in range(layout(4).total):
        check(shape(4, number))


def test_exact_dtype_when_the_bound_passes_63_bits_then_python_integers():
    assert exact_dtype([99] * 8, 922) is np.int64
    assert exact_dtype([99] * 8, 923) is object  # 100^8 * 923 > 2^63 > 100^8 * 922


def test_program_when_run_on_a_batch_then_columns_equal_single_runs():
    puzzles = np.array([[3, 7, 25, 50], [1, 1, 0, 2], [9, 9, 9, 9]])
    tops, bottoms = program(4).run(puzzles.T)
    for column, puzzle in enumerate(puzzles):
        top, bottom = program(4).run(puzzle)
        assert (tops[:, column] == top).all()
        assert (bottoms[:, column] == bottom).all()
