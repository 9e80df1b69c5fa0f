// The door to every backend: what fits is handed on unchanged, what does not fit ends the
// program with both numbers.
#include "backend.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "main.h"

// A backend that computes nothing and counts what reaches it.
static int reached;

static void embed(struct backend *b, struct vector *x, const struct weight *w)
{
    (void)b, (void)x, (void)w;
    reached++;
}

static void rmsnorm(struct backend *b, struct vector *y, const struct vector *x,
                    const struct weight *w, float epsilon)
{
    (void)b, (void)y, (void)x, (void)w, (void)epsilon;
    reached++;
}

static void gemv(struct backend *b, struct vector *y, const struct weight *w,
                 struct vector *x)
{
    (void)b, (void)y, (void)x, (void)w;
    reached++;
}

static void gemv_group(struct backend *b, struct vector *const *y,
                       const struct weight *const *w, int count, struct vector *x)
{
    (void)b, (void)y, (void)x, (void)w, (void)count;
    reached++;
}

static void qk_norm_rope(struct backend *b, struct vector *q, struct vector *k,
                         const struct weight *q_norm, const struct weight *k_norm,
                         const struct qk_shape *s)
{
    (void)b, (void)q, (void)k, (void)q_norm, (void)k_norm, (void)s;
    reached++;
}

static void append(struct backend *b, struct cache *c, int layer, const struct vector *k,
                   const struct vector *v)
{
    (void)b, (void)c, (void)layer, (void)k, (void)v;
    reached++;
}

static void attend(struct backend *b, struct vector *out, const struct vector *q,
                   struct cache *c, int layer)
{
    (void)b, (void)c, (void)layer, (void)q, (void)out;
    reached++;
}

static void swiglu(struct backend *b, struct vector *y, const struct vector *gate,
                   const struct vector *up)
{
    (void)b, (void)y, (void)gate, (void)up;
    reached++;
}

static const struct backend_ops ops = {
    .embed = embed,
    .rmsnorm = rmsnorm,
    .gemv = gemv,
    .gemv_add = gemv,
    .gemv_group = gemv_group,
    .qk_norm_rope = qk_norm_rope,
    .append = append,
    .attend = attend,
    .swiglu = swiglu,
};
static struct backend backend = {.ops = &ops, .name = "counting"};

// Shapes that fit each other: 8 rows, 6 columns; 4 query heads and 2 key heads of 2.
static struct weight matrix = {.rows = 8, .columns = 6}, norm = {.rows = 1, .columns = 6};
static struct weight head_norm = {.rows = 1, .columns = 2};
static struct vector six = {6}, eight = {8}, four = {4}, seven = {7};
static const struct qk_shape heads = {4, 2, 2, 1e-6f, 10000};
static struct cache cache = {{KV_F16, 2, 16, 2}, .layers = 3, .heads = 4};

//: backend-test-death
// Runs the calls in a process of its own, which must end by abort() and have said this.
static void check_death(void (*calls)(void), const char *expected)
{
    int ends[2], status;
    char said[256];
    ck_assert_int_eq(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        calls();
        _exit(0);
    }
    close(ends[1]);
    ssize_t n = read(ends[0], said, sizeof said - 1);
    close(ends[0]);
    said[n > 0 ? n : 0] = 0;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_str_eq(said, expected);
    ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

//: backend-test-calls
static void multiply_seven(void)
{
    backend_gemv(&backend, &eight, &matrix, &seven);
}

static void multiply_into_seven(void)
{
    backend_gemv_add(&backend, &seven, &matrix, &six);
}

//: backend-test-mismatches
START_TEST(a_gemv_of_another_width_or_height_ends_the_program_with_both_numbers)
{
    check_death(multiply_seven, "lanewise: internal error: GEMV input is 7, expected 6\n");
    check_death(multiply_into_seven,
                "lanewise: internal error: GEMV output is 7, expected 8\n");
}
END_TEST

//: backend-test-rest
static void embed_seven(void)
{
    backend_embed(&backend, &seven, &matrix);
}

static void normalize_seven(void)
{
    backend_rmsnorm(&backend, &six, &seven, &norm, 1e-6f);
}

static void normalize_into_seven(void)
{
    backend_rmsnorm(&backend, &seven, &six, &norm, 1e-6f);
}

static void group_with_seven(void)
{
    backend_gemv_group(&backend, (struct vector *[]){&eight, &seven},
                       (const struct weight *[]){&matrix, &matrix}, 2, &six);
}

static void group_of_four(void)
{
    backend_gemv_group(&backend, (struct vector *[]){&eight, &eight, &eight, &eight},
                       (const struct weight *[]){&matrix, &matrix, &matrix, &matrix}, 4,
                       &six);
}

static void turn_seven(void)
{
    backend_qk_norm_rope(&backend, &eight, &seven, &head_norm, &head_norm, &heads);
}

static void turn_with_a_wide_norm(void)
{
    backend_qk_norm_rope(&backend, &eight, &four, &head_norm, &norm, &heads);
}

static void append_seven(void)
{
    backend_append(&backend, &cache, 0, &four, &seven);
}

static void append_to_layer_three(void)
{
    backend_append(&backend, &cache, 3, &four, &four);
}

static void attend_with_seven(void)
{
    backend_attend(&backend, &eight, &seven, &cache, 0);
}

static void attend_in_no_layer(void)
{
    backend_attend(&backend, &eight, &eight, &cache, -1);
}

static void gate_seven(void)
{
    backend_swiglu(&backend, &eight, &eight, &seven);
}

static void cache_of_odd_groups(void)
{
    struct error e;
    backend_cache_new(&backend, &cache.shape, 1, 3, &e);
}

START_TEST(every_other_mismatch_ends_the_program_with_both_numbers)
{
    static const struct {
        void (*calls)(void);
        const char *said;
    } cases[] = {
        {embed_seven, "embedding width is 7, expected 6"},
        {normalize_seven, "norm input is 7, expected 6"},
        {normalize_into_seven, "norm output is 7, expected 6"},
        {group_with_seven, "GEMV output is 7, expected 8"},
        {group_of_four, "matrices of a group is 4, expected 0 to 3"},
        {turn_seven, "key is 7, expected 4"},
        {turn_with_a_wide_norm, "key norm is 6, expected 2"},
        {append_seven, "value is 7, expected 4"},
        {append_to_layer_three, "layer is 3, expected 0 to 2"},
        {attend_with_seven, "query is 7, expected 8"},
        {attend_in_no_layer, "layer is -1, expected 0 to 2"},
        {gate_seven, "up is 7, expected 8"},
        {cache_of_odd_groups, "query heads beyond whole groups is 1, expected 0"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char line[256];
        snprintf(line, sizeof line, "lanewise: internal error: %s\n", cases[i].said);
        check_death(cases[i].calls, line);
    }
}
END_TEST

START_TEST(what_fits_is_handed_on_once)
{
    struct vector *outputs[] = {&eight, &eight, &eight};
    const struct weight *matrices[] = {&matrix, &matrix, &matrix};
    reached = 0;
    backend_embed(&backend, &six, &matrix);
    backend_rmsnorm(&backend, &six, &six, &norm, 1e-6f);
    backend_gemv(&backend, &eight, &matrix, &six);
    backend_gemv_add(&backend, &eight, &matrix, &six);
    backend_gemv_group(&backend, outputs, matrices, 3, &six);
    backend_qk_norm_rope(&backend, &eight, &four, &head_norm, &head_norm, &heads);
    backend_append(&backend, &cache, 2, &four, &four);
    backend_attend(&backend, &eight, &eight, &cache, 2);
    backend_swiglu(&backend, &eight, &eight, &eight);
    ck_assert_int_eq(reached, 9);
}
END_TEST

START_TEST(freeing_nothing_does_nothing)
{
    backend_free(NULL);
    backend_weight_free(&backend, NULL); // a call through the null pointers would crash
    backend_vector_free(&backend, NULL);
    backend_cache_free(&backend, NULL);
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("backend");
    add_case(s, "core", what_fits_is_handed_on_once, freeing_nothing_does_nothing, NULL);
    add_case(s, "limits",
             a_gemv_of_another_width_or_height_ends_the_program_with_both_numbers,
             every_other_mismatch_ends_the_program_with_both_numbers, NULL);
    return s;
}
