"""How answers go together: cross-tables, and regressions of randomised answers on other columns."""

from deniable.relations.crosstab import Crosstab, Side
from deniable.relations.fitted_regression import Regression
from deniable.relations.independence import Independence
from deniable.relations.regressing import regress
from deniable.relations.tabulating import MOST_CELLS, crosstab

__all__ = ["MOST_CELLS", "Crosstab", "Independence", "Regression", "Side", "crosstab", "regress"]
