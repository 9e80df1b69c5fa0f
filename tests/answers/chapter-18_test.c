// Answers to the exercises of chapter 18.
#include <math.h>

#include "main.h"

//: answer-perplexity
struct foreseen {
    double perplexity, error;
};

static struct foreseen score(const double *probabilities, int n)
{
    double mean = 0, variance = 0;
    for (int i = 0; i < n; i++)
        mean -= log(probabilities[i]) / n;
    for (int i = 0; i < n; i++)
        variance += pow(-log(probabilities[i]) - mean, 2) / (n - 1);
    return (struct foreseen){exp(mean), exp(mean) * sqrt(variance / n)};
}

//: answer-perplexity-test
START_TEST(three_tokens_by_hand)
{
    struct foreseen unlike = score((const double[]){0.5, 0.25, 0.125}, 3);
    struct foreseen alike = score((const double[]){0.25, 0.25, 0.25}, 3);
    ck_assert(fabs(unlike.perplexity - 4) <= 1e-12);
    ck_assert(fabs(unlike.error - 4 * log(2) / sqrt(3)) <= 1e-12);
    ck_assert(fabs(alike.perplexity - 4) <= 1e-12);
    ck_assert(alike.error >= 0 && alike.error <= 1e-6);
}
END_TEST

//: answers-18-suite
Suite *suite(void)
{
    Suite *s = suite_create("answers 18");
    add_case(s, "answers", three_tokens_by_hand, NULL);
    return s;
}
