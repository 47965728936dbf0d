"""What "auto" means, and how names become mechanisms and noises: public rules, never the data.

The table below rests on measurements (docs/decisions.md, "What auto means"): on every distribution tried the
inverse-sensitivity mechanism answers order statistics better than noise of any scale.
"""

from __future__ import annotations

from dither.errors import InvalidArgument, NotApplicable
from dither.mechanisms.inverse import Inverse
from dither.mechanisms.ladder import LadderMechanism
from dither.mechanisms.largest_local import LargestLocal
from dither.mechanisms.limits import check_cost
from dither.mechanisms.mechanism import Mechanism, MechanismSpec, Prepared
from dither.mechanisms.noisy_local import NoisyLocal
from dither.mechanisms.propose_test import ProposeTest
from dither.mechanisms.smooth import Smooth
from dither.mechanisms.stable import Stable
from dither.mechanisms.worst_case import WorstCase
from dither.noise.gaussian import Gaussian
from dither.noise.heavy_tails import Cauchy, PowerLaw, Student
from dither.noise.laplace import Laplace
from dither.noise.law import Law
from dither.numbers import exact
from dither.privacy import Loss
from dither.sensitivity.levels import HasLevels
from dither.sensitivity.local import HasLocalSensitivity
from dither.sensitivity.reachable import HasReachableValues
from dither.statistics.order import RankedValues
from dither.statistics.spread import SquaredSpread
from dither.statistics.statistic import Statistic, VectorStatistic
from dither.statistics.totals import TrimmedTotal

MECHANISMS: dict[str, type[Mechanism]] = {
    "worst_case": WorstCase,
    "smooth": Smooth,
    "inverse": Inverse,
    "ladder": LadderMechanism,
    "largest_local": LargestLocal,
    "noisy_local": NoisyLocal,
    "propose_test": ProposeTest,
    "stable": Stable,
}
NOISES: dict[str, type[Law]] = {
    "power_law": PowerLaw,
    "cauchy": Cauchy,
    "laplace": Laplace,
    "gaussian": Gaussian,
    "student": Student,
}


def applicable(statistic: Statistic | VectorStatistic) -> list[str]:
    """The mechanisms that serve this statistic, the default first."""
    levels = ["largest_local"] if isinstance(statistic, HasLevels) else []
    steady = ["noisy_local"] if isinstance(statistic, HasLocalSensitivity) else []
    return _suited(statistic) + levels + steady


def _suited(statistic: Statistic | VectorStatistic) -> list[str]:
    """Those that need nothing but a ladder, and chains."""
    if isinstance(statistic, RankedValues):
        return ["inverse", "worst_case"]
    if isinstance(statistic, VectorStatistic):
        return ["worst_case"]
    return [*_by_noise(statistic), *_by_test(statistic)]


def _by_noise(statistic: Statistic) -> list[str]:
    if isinstance(statistic, TrimmedTotal) and statistic.trimmed == 0:
        # One record can move a sum by its whole range whatever the others are: nothing to fit.
        return ["worst_case", "smooth", "inverse", "ladder"]
    if isinstance(statistic, HasReachableValues):
        return ["inverse", "smooth", "ladder", "worst_case"]
    if statistic.fitted:
        return ["smooth", "ladder", "worst_case"]
    return ["worst_case", "smooth", "ladder"]


def _by_test(statistic: Statistic) -> list[str]:
    """Tests can pass only where rungs may lie below the cap: not for sums and the like."""
    total = isinstance(statistic, TrimmedTotal) and statistic.trimmed == 0
    return [] if statistic.flat or total or isinstance(statistic, SquaredSpread) else ["propose_test", "stable"]


def named_noise(noise: object, argument: str = "noise") -> Law | None:
    """A law by name, as given, or None for "auto"."""
    if noise is None or noise == "auto":
        return None
    if isinstance(noise, Law):
        return noise
    if isinstance(noise, str) and noise in NOISES:
        return NOISES[noise]()
    names = ", ".join(repr(name) for name in ("auto", *NOISES))
    raise InvalidArgument(argument, noise, f"{names} or a noise object such as dither.Cauchy(gamma=4) is accepted")


def prepare(
    statistic: Statistic | VectorStatistic,
    *,
    epsilon: object,
    delta: object = 0.0,
    mechanism: object = "auto",
    noise: object = "auto",
    confidence: object = None,
) -> tuple[str, Prepared]:
    """The mechanism for a question and the name of its mechanism, from public facts alone."""
    loss = Loss.asked(epsilon, delta)
    law = named_noise(noise)
    level = None if confidence is None else exact(confidence, "confidence")
    ask = MechanismSpec(statistic, loss, law, level)
    chosen = _mechanism(mechanism, statistic, law)
    if isinstance(statistic, Statistic) and statistic.global_sensitivity == 0:
        # The same answer on all data: noise for the worst of them is no noise, and there is nothing to fit or test.
        return WorstCase.name, WorstCase().prepare(MechanismSpec(statistic, loss, None, level))
    prepared = chosen.prepare(ask)
    prepared.check_data_can_pass()
    check_cost(prepared, loss.epsilon)
    return chosen.name, prepared


def _mechanism(mechanism: object, statistic: Statistic | VectorStatistic, law: Law | None) -> Mechanism:
    served = applicable(statistic)
    if mechanism == "auto":
        # A noise that was asked for by name is added noise, not a draw from shells.
        name = served[0] if law is None else next(name for name in served if name not in ("inverse", "ladder"))
        return MECHANISMS[name]()
    if isinstance(mechanism, Mechanism):
        chosen = mechanism
    elif isinstance(mechanism, str) and mechanism in MECHANISMS:
        chosen = MECHANISMS[mechanism]()
    else:
        names = ", ".join(repr(name) for name in ("auto", *MECHANISMS))
        raise InvalidArgument(
            "mechanism", mechanism, f"{names} or an object such as dither.Smooth(beta=0.1) is accepted"
        )
    brings_levels = isinstance(chosen, LargestLocal) and chosen.levels is not None
    # A mechanism of one's own knows best which statistics it serves, and says so in ``prepare``.
    ours = chosen.name in MECHANISMS
    if ours and chosen.name not in served and not brings_levels:
        raise NotApplicable("mechanism", chosen.name, "this query does not offer it", ", ".join(served))
    return chosen
