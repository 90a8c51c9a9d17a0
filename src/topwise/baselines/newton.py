"""Newton's method for smooth convex losses of a linear model, with conjugate gradients for its steps."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

Vector = npt.NDArray[np.float64]


class Curve(Protocol):
    """A convex loss of the scores of all rows, seen from some scores."""

    value: float
    gradient: Vector

    def curvature(self, direction: Vector) -> Vector:
        """The Hessian (in the scores) times a direction."""
        ...


class Loss(Protocol):
    """A convex loss of scores."""

    def at(self, scores: Vector) -> Curve: ...


def minimise(
    features: npt.NDArray[Any], loss: Loss, weight: float, start: Vector, tolerance: float, most: int
) -> Vector:
    """argmin_w ½‖w‖² + weight · loss(X w).

    Truncated Newton: each step solves the Newton equations by conjugate gradients to a tenth of the gradient,
    and is halved until the objective falls as much as its slope promises. Ends when the gradient is
    `tolerance` times what it is at w = 0.
    """
    w = start.copy()
    scores = features @ w
    at_zero = loss.at(np.zeros(len(scores)))
    bar = tolerance * float(np.linalg.norm(weight * (features.T @ at_zero.gradient)))
    curve = loss.at(scores)
    value = 0.5 * w @ w + weight * curve.value
    for _ in range(most):
        gradient = w + weight * (features.T @ curve.gradient)
        if np.linalg.norm(gradient) <= bar:
            break
        step = _solve(features, curve, weight, gradient)
        along = features @ step
        slope = float(gradient @ step)
        length = 1.0
        for _ in range(40):
            tried = w + length * step
            curve_there = loss.at(scores + length * along)
            value_there = 0.5 * tried @ tried + weight * curve_there.value
            if value_there <= value + 1e-4 * length * slope:
                break
            length /= 2
        else:
            break  # no step makes it smaller in this precision
        w, curve, value = tried, curve_there, value_there
        scores = features @ w
    return w


def _solve(features: npt.NDArray[Any], curve: Curve, weight: float, gradient: Vector) -> Vector:
    """H d = −gradient with H = I + weight Xᵀ (curvature) X, to a tenth of the gradient."""
    d = np.zeros_like(gradient)
    residual = -gradient
    direction = residual.copy()
    square = float(residual @ residual)
    wanted = 0.01 * square
    for _ in range(len(gradient) + 50):
        if square <= wanted:
            break
        image = direction + weight * (features.T @ curve.curvature(features @ direction))
        size = square / float(direction @ image)
        d += size * direction
        residual = residual - size * image
        previous, square = square, float(residual @ residual)
        direction = residual + (square / previous) * direction
    return d
