"""Everything that ships, under contract."""

from fractions import Fraction

import pytest

from contract.contracts import MechanismContract, NoiseContract, QueryContract
from dither.mechanisms.inverse import Inverse
from dither.mechanisms.ladder import LadderMechanism
from dither.mechanisms.propose_test import ProposeTest
from dither.mechanisms.smooth import Smooth
from dither.mechanisms.stable import Stable
from dither.mechanisms.worst_case import WorstCase
from dither.noise.blunt_power_law import BluntPowerLaw
from dither.noise.gaussian import Gaussian
from dither.noise.heavy_tails import Cauchy, PowerLaw, Student
from dither.noise.laplace import Laplace
from dither.privacy import Loss
from dither.queries.smallest import SmallestSum
from dither.queries.spread import IQR
from dither.queries.totals import TrimmedMean
from dither.sources.column import Shape
from dither.sources.grid import Grid
from dither.statistics.centre_of_attention import ShortestMiddle
from dither.statistics.order import RankedValue

PURE = [BluntPowerLaw(), PowerLaw(), Cauchy(4), Cauchy(Fraction(3, 2)), Student(3)]
LIGHT = [Laplace(), Gaussian()]


class TestBluntPowerLaw(NoiseContract):
    law = BluntPowerLaw()


class TestBluntPowerLawOfGivenShape(NoiseContract):
    law = BluntPowerLaw(Fraction(5, 2))


class TestPowerLaw(NoiseContract):
    law = PowerLaw()


class TestPowerLawOfGivenShape(NoiseContract):
    law = PowerLaw(3)


class TestCauchy(NoiseContract):
    law = Cauchy(2)


class TestGeneralisedCauchy(NoiseContract):
    law = Cauchy(4)


class TestHeavyCauchy(NoiseContract):
    law = Cauchy(Fraction(3, 2))


class TestStudent(NoiseContract):
    law = Student(3)


class TestStudentWithOneDegree(NoiseContract):
    law = Student(1)


class TestLaplace(NoiseContract):
    law = Laplace()


class TestGaussian(NoiseContract):
    law = Gaussian()


class TestOrderStatistics(QueryContract):
    def statistics(self, records):
        grid = Grid(Fraction(1), 0, 4)
        for rank in range(1, records + 1):
            yield RankedValue(rank, records, grid), lambda x, rank=rank: sorted(x)[rank - 1]


class TestTrimmedTotals(QueryContract):
    values = range(4)

    def statistics(self, records):
        shape = Shape(records, whole=True, nullable=False)
        for m in range((records - 1) // 2 + 1):
            query = TrimmedMean(trim=Fraction(m, records), bounds=(0, 3))
            yield query.resolve(shape), lambda x, m=m: sum(sorted(x)[m : len(x) - m])


class TestSmallestTotals(QueryContract):
    values = range(4)

    def statistics(self, records):
        shape = Shape(records, whole=True, nullable=False)
        for k in range(1, records + 1):
            yield SmallestSum(k=k, bounds=(0, 3)).resolve(shape), lambda x, k=k: sum(sorted(x)[:k])


class TestRankDifferences(QueryContract):
    values = range(4)
    exact = False

    def statistics(self, records):
        if records > 1:
            shape = Shape(records, whole=True, nullable=False)
            yield IQR(low=0, high=1, bounds=(0, 3)).resolve(shape), lambda x: max(x) - min(x)
            middle = IQR(low=Fraction(1, records), high=Fraction(2, records), bounds=(0, 3))
            yield middle.resolve(shape), lambda x: sorted(x)[1] - min(x)


class TestShortestMiddles(QueryContract):
    values = range(4)
    exact = False

    def statistics(self, records):
        grid = Grid(Fraction(1), 0, 3)
        if records > 1:
            statistic = ShortestMiddle(records, 1, grid)
            held = min(statistic.majority, records)
            yield statistic, lambda x, held=held: middle(sorted(x), held)

    @pytest.mark.parametrize("records", [4])
    def test_the_axiom_check_can_fail(self, records):
        """Of three records the bound is the whole range; from four on it is attained."""
        super().test_the_axiom_check_can_fail(records)


def middle(x, held):
    """Twice the middle of the first shortest run of so many records."""
    length, first = min((x[i + held - 1] - x[i], i) for i in range(len(x) - held + 1))
    return 2 * x[first] + length


class TestInverse(MechanismContract):
    cases = [(Inverse(), None, Loss(e)) for e in (0.1, 1.0, 3.0)]


class TestLadderMechanism(MechanismContract):
    cases = [(LadderMechanism(), None, Loss(e)) for e in (0.1, 1.0)]


class TestSmoothPure(MechanismContract):
    cases = [(Smooth(), law, Loss(1.0)) for law in PURE]


class TestSmoothApproximate(MechanismContract):
    cases = [(Smooth(), law, Loss(1.0, 1e-5)) for law in LIGHT]


class TestSmoothAlgorithms(MechanismContract):
    cases = [(Smooth(algorithm=name), None, Loss(1.0)) for name in ("linear", "sublinear")]


class TestSmoothWithThePapersConstants(MechanismContract):
    cases = [(Smooth(constants="paper"), Cauchy(4), Loss(1.0))]

    @pytest.mark.sampled(1)
    def test_a_smaller_loss_would_be_seen_to_be_exceeded(self):
        """The paper's constants leave so much room that even a third of the loss would hold."""
        for prepared, loss in self.mechanisms(self.rank):
            assert self.holds(prepared, Loss(loss.epsilon / 1.6), stride=7)
            assert not self.holds(prepared, Loss(loss.epsilon / 20))


class TestWorstCase(MechanismContract):
    cases = [(WorstCase(), law, Loss(0.5)) for law in [*PURE, Laplace()]] + [(WorstCase(), Gaussian(), Loss(0.5, 1e-5))]


class TestProposeTest(MechanismContract):
    cases = [(ProposeTest(bound=bound), None, Loss(4.0, 0.01)) for bound in (1, 3)]


class TestStable(MechanismContract):
    cases = [(Stable(), None, Loss(3.0, 0.01))]
