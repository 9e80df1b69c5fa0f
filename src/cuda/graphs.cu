//: graphs-struct
// Capture and replay; see graphs.h.  A captured launch keeps its grid and its arguments.
// What changes from step to step (token, position) is read from device memory, and what the
// grid depends on (the number of splits) is fixed for a bucket: so a graph for each bucket
// serves all of its positions.
#include "cuda_state.h"

#include <stdlib.h>

extern "C" {
#include "graphs.h"
}

namespace
{
enum { MOST_BUCKETS = 32 };

struct graphs {
    struct backend_ops ops;          // what the backend's verbs are now
    const struct backend_ops *plain; // what they were
    int buckets[MOST_BUCKETS], n_buckets;
    cudaGraphExec_t executable[STEP_KINDS][MOST_BUCKETS]; // null: not captured yet
    cudaGraphExec_t *capturing;
};

//: graphs-find
struct cuda_backend *cuda(struct backend *b)
{
    return reinterpret_cast<struct cuda_backend *>(b);
}

struct graphs *graphs_of(struct backend *b)
{
    return static_cast<struct graphs *>(cuda(b)->graphs);
}

// The place of a step's graph; buckets are few, and numbered as they come.
cudaGraphExec_t *place_of(struct graphs *g, enum step_kind kind, int bucket)
{
    int i = 0;
    while (i < g->n_buckets && g->buckets[i] != bucket)
        i++;
    if (i == MOST_BUCKETS) // cannot be: buckets double
        abort();
    if (i == g->n_buckets)
        g->buckets[g->n_buckets++] = bucket;
    return &g->executable[kind][i];
}

//: graphs-replay
bool graphs_begin(struct backend *base, enum step_kind kind, int bucket)
{
    struct cuda_backend *b = cuda(base);
    struct graphs *g = graphs_of(base);
    cudaGraphExec_t *place = place_of(g, kind, bucket);
    b->bucket = bucket;
    if (*place != nullptr) {
        cuda_ok(b, cudaGraphLaunch(*place, b->stream));
        cuda_step_begun(b);
        return false;
    }
    g->capturing = place;
    cuda_ok(b, cudaStreamBeginCapture(b->stream, cudaStreamCaptureModeThreadLocal));
    return true;
}

//: graphs-capture
void graphs_end(struct backend *base)
{
    struct cuda_backend *b = cuda(base);
    cudaGraph_t graph = nullptr;
    cuda_advance(b);
    cuda_ok(b, cudaStreamEndCapture(b->stream, &graph));
    if (graph != nullptr && cuda_ok(b, cudaSuccess))
        cuda_ok(b, cudaGraphInstantiate(graphs_of(base)->capturing, graph, 0));
    if (graph != nullptr)
        cudaGraphDestroy(graph);
    if (cuda_ok(b, cudaSuccess))
        cuda_ok(b, cudaGraphLaunch(*graphs_of(base)->capturing, b->stream));
    cuda_step_begun(b);
}

//: graphs-drop
// The graphs hold the addresses of weights, vectors and cache: they go when the cache goes.
void drop(struct backend *b)
{
    struct graphs *g = graphs_of(b);
    cudaStreamSynchronize(cuda(b)->stream);
    for (int kind = 0; kind < STEP_KINDS; kind++)
        for (int i = 0; i < g->n_buckets; i++) {
            if (g->executable[kind][i] != nullptr)
                cudaGraphExecDestroy(g->executable[kind][i]);
            g->executable[kind][i] = nullptr;
        }
    g->n_buckets = 0;
}

void graphs_cache_free(struct backend *b, struct cache *c)
{
    drop(b);
    graphs_of(b)->plain->cache_free(b, c);
}

//: graphs-enable
void graphs_free(struct backend *b)
{
    struct graphs *g = graphs_of(b);
    drop(b);
    g->plain->free(b);
    free(g);
}
} // namespace

bool graphs_enable(struct backend *b, struct error *e)
{
    struct graphs *g = static_cast<struct graphs *>(calloc(1, sizeof *g));
    if (g == nullptr)
        return failed(e, "out of memory for the graphs");
    g->plain = b->ops;
    g->ops = *b->ops;
    g->ops.begin = graphs_begin;
    g->ops.end = graphs_end;
    g->ops.cache_free = graphs_cache_free;
    g->ops.free = graphs_free;
    cuda(b)->graphs = g;
    b->ops = &g->ops;
    return true;
}
