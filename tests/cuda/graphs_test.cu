// Whole steps on the CUDA backend, launched one kernel after another or replayed as graphs:
// near the CPU's logits, exact in the golden tokens, and the same bits with graphs and
// without, at first and after rewinding.
#include <cuda_runtime.h>

#include <math.h>
#include <string.h>

#include <string>

#include "device.h"
#include "small_model.h"

extern "C" {
#include "backend_cpu.h"
#include "backend_cuda.h"
#include "decoder.h"
#include "graphs.h"
#include "split_count.h"
}

namespace
{
struct error e;
struct gguf file;
struct model model;

#ifdef SIMT_RACE
constexpr bool RACES = true, SLOW = true;
#elif defined __SANITIZE_ADDRESS__
constexpr bool RACES = false, SLOW = true;
#else
constexpr bool RACES = false, SLOW = false;
#endif

//: graphs-test-run
enum machine { CPU, LAUNCHES, GRAPHS };

// A decoder on a backend of its own.
struct run {
    struct backend *backend = nullptr;
    struct decoder *decoder = nullptr;

    explicit run(enum machine machine, enum kv_type kv = KV_F16, int context = 600)
    {
        const struct backend_options on = {kv, 2, machine == GRAPHS};
        const struct decoder_options options = {kv, context};
        backend = machine == CPU ? backend_cpu_new(&on, &e) : backend_cuda_new(&on, &e);
        if (backend != NULL && (machine != GRAPHS || graphs_enable(backend, &e)))
            decoder = decoder_new(&model, backend, &options, NULL, NULL, &e);
    }
    run(const run &) = delete;
    ~run()
    {
        decoder_free(decoder);
        backend_free(backend);
    }
    //: graphs-test-run-verbs
    std::vector<float> logits_after(int token)
    {
        ck_assert_msg(decoder_prompt(decoder, &token, 1, &e), "%s", e.text);
        const float *logits = decoder_logits(decoder, &e);
        ck_assert_msg(logits != NULL, "%s", e.text);
        return std::vector<float>(logits, logits + decoder_vocabulary(decoder));
    }
    void fill(int count) // positions, with tokens that differ
    {
        for (int i = 0; i < count; i++) {
            const int token = (7 * decoder_position(decoder) + 3) % 60;
            ck_assert_msg(decoder_fill(decoder, &token, 1, &e), "%s", e.text);
        }
    }
    std::vector<int> greedy(int token, int count)
    {
        std::vector<int> tokens(static_cast<size_t>(count));
        ck_assert_msg(decoder_greedy_start(decoder, token, count, &e), "%s", e.text);
        for (int &next : tokens)
            ck_assert_msg(decoder_greedy_next(decoder, &next, &e), "%s", e.text);
        decoder_greedy_stop(decoder);
        return tokens;
    }
};

//: graphs-test-models
void open_small()
{
    struct small_model s = small_model_new();
    s.layers = 1;
    struct gguf_writer w = small_model_writer(&s);
    ck_assert_msg(gw_open(&w, &file, &e), "%s", e.text);
    ck_assert_msg(model_open(&model, &file, &e), "%s", e.text);
}

void open_tales()
{
    ck_assert_msg(gguf_open(&file, "data/tales-Q4_K_M.gguf", &e), "%s", e.text);
    ck_assert_msg(model_open(&model, &file, &e), "%s", e.text);
}

// A model of one row of everything, in f32, so that 513 emulated steps are soon done.
void open_tiny()
{
    struct small_model s = small_model_new();
    s.layers = s.heads = s.kv_heads = 1;
    s.embedding = s.feed_forward = s.head_dim = 8;
    s.type = TENSOR_F32;
    struct gguf_writer w = small_model_writer(&s);
    ck_assert_msg(gw_open(&w, &file, &e), "%s", e.text);
    ck_assert_msg(model_open(&model, &file, &e), "%s", e.text);
}

void close_model()
{
    model_close(&model);
    gguf_close(&file);
}

// How far found is from expected: the mean square error over the mean square.
double nmse(const std::vector<float> &found, const std::vector<float> &expected)
{
    double error = 0, power = 0;
    for (size_t i = 0; i < expected.size(); i++) {
        const double a = static_cast<double>(found[i]);
        const double b = static_cast<double>(expected[i]);
        ck_assert_msg(isfinite(found[i]), "logit %zu is not finite", i);
        error += (a - b) * (a - b);
        power += b * b;
    }
    return error / power;
}

//: graphs-test-near
// Both machines quantize activations at the same places, but to codes that may differ by
// one where a sum in f32 falls on the other side of a half: an NMSE of 1e-5 allows for
// that.
START_TEST(logits_are_near_the_cpus)
{
    for (enum kv_type kv : {KV_F16, KV_F32}) {
        run cpu(CPU, kv), gpu(GRAPHS, kv);
        ck_assert_msg(gpu.decoder != NULL, "%s", e.text);
        for (int token : {5, 9}) {
            const std::vector<float> found = gpu.logits_after(token);
            note_bits(found.data(), 4 * found.size(), SAME_IN_EVERY_ORDER, __FILE__,
                      __LINE__);
            const double error = nmse(found, cpu.logits_after(token));
            ck_assert_msg(error <= 1e-5, "NMSE %g after token %d", error, token);
        }
    }
}
END_TEST

//: graphs-test-same-bits
START_TEST(graphs_change_no_bit)
{
    for (enum kv_type kv : {KV_F16, KV_F32}) {
        run launches(LAUNCHES, kv), graphs(GRAPHS, kv);
        for (int token : {5, 9, 63})
            ck_assert(launches.logits_after(token) == graphs.logits_after(token));
        ck_assert(launches.greedy(7, 4) == graphs.greedy(7, 4));
    }
}
END_TEST

//: graphs-test-rewinding
START_TEST(a_replay_after_rewinding_gives_the_same_bits)
{
    run graphs(GRAPHS);
    const std::vector<float> first = graphs.logits_after(5); // captures
    const std::vector<float> second = graphs.logits_after(9);
    const std::vector<int> told = graphs.greedy(2, 3);
    decoder_rewind(graphs.decoder, 0); // from here on replays
    ck_assert(graphs.logits_after(5) == first);
    ck_assert(graphs.logits_after(9) == second);
    ck_assert(graphs.greedy(2, 3) == told);
}
END_TEST

START_TEST(greedy_steps_that_feed_themselves_choose_what_the_host_would)
{
    run fed(GRAPHS), feeding(GRAPHS);
    const std::vector<int> told = fed.greedy(5, 4);
    int token = 5;
    for (int expected : told) {
        const std::vector<float> logits = feeding.logits_after(token);
        token = 0;
        for (int i = 1; i < static_cast<int>(logits.size()); i++)
            if (logits[static_cast<size_t>(i)] > logits[static_cast<size_t>(token)])
                token = i;
        ck_assert_int_eq(token, expected);
    }
}
END_TEST

//: graphs-test-cut-short
START_TEST(a_run_cut_short_continues_where_it_stopped)
{
    run whole(GRAPHS), cut(GRAPHS);
    const std::vector<int> told = whole.greedy(5, 6);
    int token = 0;
    ck_assert(decoder_greedy_start(cut.decoder, 5, 6, &e));
    for (int i = 0; i < 3; i++) // by now more have been begun
        ck_assert(decoder_greedy_next(cut.decoder, &token, &e));
    decoder_greedy_stop(cut.decoder);
    ck_assert_int_eq(decoder_position(cut.decoder), 3);
    ck_assert(cut.greedy(token, 3) == std::vector<int>(told.begin() + 3, told.end()));
}
END_TEST

//: graphs-test-again
START_TEST(a_second_decoder_on_the_backend_captures_anew)
{
    run graphs(GRAPHS);
    const std::vector<float> first = graphs.logits_after(5);
    const struct decoder_options options = {KV_F16, 550}; // the first bucket is 512 again
    decoder_free(graphs.decoder);
    std::vector<uint8_t *> others; // have its addresses now
    for (size_t bytes = 128; bytes <= 1 << 19; bytes *= 2)
        for (int i = 0; i < 8; i++) {
            others.push_back(nullptr);
            CHECK_CUDA(cudaMalloc(&others.back(), bytes));
        }
    graphs.decoder = decoder_new(&model, graphs.backend, &options, NULL, NULL, &e);
    ck_assert(graphs.logits_after(5) == first);
    for (uint8_t *other : others)
        cudaFree(other);
}
END_TEST

//: graphs-test-bucket
START_TEST(a_graph_of_its_own_serves_each_bucket)
{
    run cpu(CPU), launches(LAUNCHES), graphs(GRAPHS);
    run *const all[] = {&cpu, &launches, &graphs};
    for (run *r : all)
        r->fill(510);
    for (int position = 510; position < 514; position++) { // the edge is after 512 tokens
        std::vector<float> logits[3];
        for (int i = 0; i < 3; i++)
            logits[i] = all[i]->logits_after(position % 60);
        ck_assert(logits[1] == logits[2]);
        const double error = nmse(logits[2], logits[0]);
        ck_assert_msg(error <= 1e-5, "NMSE %g at position %d", error, position);
    }
}
END_TEST

//: graphs-test-golden
// Row 0 of greedy.tsv: the prompt's ids and those that follow.
std::vector<int> golden_ids(int field)
{
    std::vector<int> ids;
    char line[4096];
    FILE *f = fopen("tests/golden/greedy.tsv", "r");
    ck_assert_ptr_nonnull(f);
    do
        ck_assert_ptr_nonnull(fgets(line, sizeof line, f));
    while (line[0] == '#');
    fclose(f);
    const char *at = line;
    for (int i = 0; i < field; i++)
        at = strchr(at, '\t') + 1;
    for (char *end; *at >= '0' && *at <= '9'; at = *end == ',' ? end + 1 : end)
        ids.push_back(static_cast<int>(strtol(at, &end, 10)));
    return ids;
}

//: graphs-test-golden-tale
// Where no activation's code and no half in the cache falls otherwise than on the CPU, the
// logits differ by an NMSE of 1e-14; where one does, by up to 2e-5.
START_TEST(the_golden_tale_is_told_token_by_token)
{
    const std::vector<int> prompt = golden_ids(1), golden = golden_ids(2);
#ifdef EMULATED
    const int count = 2; // each takes the time of a thousand on a GPU
#else
    const int count = static_cast<int>(golden.size());
#endif
    run gpu(GRAPHS), cpu(CPU);
    double sum = 0;
    for (size_t i = 0; i + 1 < prompt.size(); i++) {
        const double error = nmse(gpu.logits_after(prompt[i]), cpu.logits_after(prompt[i]));
        ck_assert_msg(error <= 5e-5, "NMSE %g at position %zu", error, i);
        sum += error;
    }
    const double mean = sum / static_cast<double>(prompt.size() - 1);
    ck_assert_msg(mean <= 1e-5, "mean NMSE %g", mean);
    const std::vector<int> told = gpu.greedy(prompt.back(), count);
    ck_assert(told == std::vector<int>(golden.begin(), golden.begin() + count));
}
END_TEST

//: graphs-test-failing
#ifdef EMULATED
size_t memory_left()
{
    size_t left = 0, total = 0;
    CHECK_CUDA(cudaMemGetInfo(&left, &total));
    return left;
}

START_TEST(each_allocation_that_fails_is_told_and_leaves_nothing)
{
    const size_t before = memory_left();
    int failures = 0;
    for (bool made = false; !made; failures++) {
        setenv("SIMT_FAIL_MALLOC", std::to_string(failures + 1).c_str(), 1);
        {
            run r(GRAPHS);
            made = r.decoder != NULL;
        }
        ck_assert_msg(made || strstr(e.text, "memory") != NULL, "%s", e.text);
        ck_assert_uint_eq(memory_left(), before);
    }
    unsetenv("SIMT_FAIL_MALLOC");
    ck_assert_int_gt(failures, 6 + 13 + 20); // the backend's, the weights', the vectors'
}
END_TEST

START_TEST(the_context_that_is_said_to_fit_does_fit)
{
    size_t room = 0;
    {
        run r(GRAPHS, KV_F16, 100);
        const size_t before = r.backend->bytes_in_use;
        ck_assert_uint_gt(before, 0);
        room = 24ull << 30;
        room -= memory_left(); // what a context of 100 takes in all
    }
    setenv("SIMT_MEMORY", std::to_string(room + 1000).c_str(), 1);
    {
        run r(GRAPHS, KV_F16, 600);
        ck_assert(r.decoder == NULL);
        const char *advice = strstr(e.text, "--ctx ");
        ck_assert_msg(advice != NULL, "%s", e.text);
        const int context = atoi(advice + 6);
        ck_assert_int_ge(context, 100);
        run fits(GRAPHS, KV_F16, context);
        ck_assert_msg(fits.decoder == NULL, "a second one beside the first fits");
    }
    {
        run r(GRAPHS, KV_F16, 101);
        ck_assert_msg(r.decoder != NULL, "%s", e.text);
    }
    unsetenv("SIMT_MEMORY");
}
END_TEST
#endif
} // namespace

//: graphs-test-suite
Suite *suite(void)
{
    Suite *s = suite_create("cuda/graphs");
    TCase *core = tcase_create("core"), *limits = tcase_create("limits");
    TCase *buckets = tcase_create("buckets"), *golden = tcase_create("golden");
    TCase *cases[] = {core, limits, buckets, golden};
    // Once is enough of 514 steps and of the whole model; the small model has the other
    // orders of threads, and what the checkers can see.
    const char *order = getenv("SIMT_ORDER");
    const bool once = !SLOW && (order == NULL || strcmp(order, "ascending") == 0);
    for (TCase *c : cases) {
        tcase_set_timeout(c, 300);
        suite_add_tcase(s, c);
    }
    tcase_add_checked_fixture(core, open_small, close_model);
    tcase_add_checked_fixture(limits, open_small, close_model);
    tcase_add_checked_fixture(buckets, open_tiny, close_model);
    tcase_add_checked_fixture(golden, open_tales, close_model);
    tcase_add_test(core, logits_are_near_the_cpus);
    tcase_add_test(core, graphs_change_no_bit);
    if (!RACES) { // they look into launches; what follows is about their order
        tcase_add_test(core, a_replay_after_rewinding_gives_the_same_bits);
        tcase_add_test(core, greedy_steps_that_feed_themselves_choose_what_the_host_would);
        tcase_add_test(core, a_run_cut_short_continues_where_it_stopped);
        tcase_add_test(core, a_second_decoder_on_the_backend_captures_anew);
#ifdef EMULATED
        tcase_add_test(limits, each_allocation_that_fails_is_told_and_leaves_nothing);
        tcase_add_test(limits, the_context_that_is_said_to_fit_does_fit);
#endif
    }
    if (once) {
        tcase_add_test(buckets, a_graph_of_its_own_serves_each_bucket);
        tcase_add_test(golden, the_golden_tale_is_told_token_by_token);
    }
    return s;
}
