"""Sentences that several captions share; each states what the paper leaves open and what we chose."""

from deniable.reproduce.figures.base import EPSILON

CELLS = (
    f"Rows are alphabet sizes k, columns are {EPSILON}. Numbers are thousandths; negative and blue means that the "
    "first of the two is better. A number in grey brackets is within two standard errors of zero: its sign is unknown."
)
SMALL = (
    "One panel for each of the twelve populations (rows) and each number of users (columns), with k upwards and "
    f"{EPSILON} to the right. Every panel has its own colour scale, whose end is printed above it; grey cells are "
    "within two standard errors of zero. L1 loss."
)
CELL_NOTES = (
    "The loss is the distance between the decoded distribution and that of the drawn sample, as in the paper, "
    "averaged over evaluations; the decoders of a cell read the same samples, and standard errors are those of the "
    f"paired difference. The paper does not say which k and {EPSILON} its grids hold: ours are the powers of two up "
    "to 4096, and 13 values from 0.1 to 10. The Dirichlet population is drawn anew for every evaluation. Colour grows "
    "with the square root of the difference, so that small differences still show."
)
EUCLIDEAN = "The paper does not say whether its L2 is squared; ours is the Euclidean norm. "
BANDS = (
    "Lines are medians of the L1 loss, and bands hold the middle 90 % of the samples. The parameters of each point "
    "were chosen on other samples than those shown."
)
LINE_NOTES = (
    "The loss is the distance to the population, which is geometric with mean S / 5. The decoder is least squares over "
    "counts divided by n / C, projected onto the simplex. At h hashes each bit gets epsilon / min(2h, k). Parameters "
    f"are searched on the paper's grid for each {EPSILON}: a prediction sets aside those that cannot win; in a full "
    "run the others race on samples of their own, a quick run takes the best prediction, and an exhaustive one "
    "simulates the whole grid. Choosing and reporting on the same samples would flatter the winner; the paper does not "
    "say which it did, and we use different ones. Hash functions are fresh for every sample at S = 256; at S = 4096 "
    "each (k, C, h) has one stated seed."
)
