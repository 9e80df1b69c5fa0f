//: gemv-q4k-activations
// y = W x for repacked Q4_K weights; see gemv_q4k.h and q4k_repack.h.  Sixteen lanes take a
// superblock, so the 128 threads of a block take eight of a row at a time.  Lane l of the
// sixteen owns 16 weights of group l / 4: with i = l % 4, the values 4i..4i+3 and
// 16+4i..16+4i+3 of sub-block 2g, whose codes are low nibbles, and the same of sub-block
// 2g + 1, whose codes are the high nibbles of the same bytes.
#include "gemv_rows.h"
#include "launch.h"
extern "C" {
#include "gemv_q4k.h"
}

namespace
{
// A lane's activations of one superblock, and what follows from them alone.  The powers of
// two undo those that add_superblock leaves in its factors; none of them rounds.
struct activations {
    int low[2], high[2];     // four codes each
    float low_d, high_d;     // scales; high: times 2^-10
    float low_sum, high_sum; // of the eight codes; low: times 2^-12, high: times 2^8
    int high_start;          // where the sum of the high products starts
};

//: gemv-q4k-float-bits
// 1.5 * 2^23 as bits: adding a small integer to them adds it to the float.
constexpr int FLOAT_BITS = 0x4b400000;

__device__ float small_integer(int bits)
{
    return __int_as_float(bits) - 0x1.8p23f;
}

__device__ int four_codes(const block_q8_1 &b, int piece)
{
    return reinterpret_cast<const int *>(b.codes)[piece];
}

//: gemv-q4k-load-x
// x: the superblock's eight blocks.
__device__ activations load_activations(const block_q8_1 *x, int lane)
{
    const block_q8_1 &low = x[lane / 4 * 2], &high = x[lane / 4 * 2 + 1];
    activations a;
    for (int i = 0; i < 2; i++) {
        a.low[i] = four_codes(low, lane % 4 + 4 * i);
        a.high[i] = four_codes(high, lane % 4 + 4 * i);
    }
    const int ones = 0x01010101;
    const int low_sum = __dp4a(ones, a.low[1], __dp4a(ones, a.low[0], 0));
    const int high_sum = __dp4a(ones, a.high[1], __dp4a(ones, a.high[0], 0));
    a.low_d = half_from_bits(low.d);
    a.high_d = half_from_bits(high.d) * 0x1p-10f;
    a.low_sum = static_cast<float>(low_sum) * 0x1p-12f;
    a.high_sum = static_cast<float>(high_sum) * 0x1p8f;
    a.high_start = FLOAT_BITS + 128 * high_sum;
    return a;
}

//: gemv-q4k-scales
// Two bit patterns that the kernel makes at run time.  Were they constants, the compiler
// would not keep them in registers, and could not do (a & mask) | b in one instruction.
struct patterns {
    unsigned two_23; // 2^23 as a float; its low bits count ones
    unsigned signs;  // the top bit of each byte
};

__device__ patterns make_patterns()
{
    const unsigned zero = blockDim.x - GEMV_THREADS; // which the compiler cannot know
    return {0x4b000000 + zero, 0x80808080 + zero};
}

//: gemv-q4k-record
// Group g's record of two scales and two minima: byte g of each of three words.
__device__ unsigned scale_record(uint4 metadata, unsigned g)
{
    const unsigned low_middle = __byte_perm(metadata.y, metadata.z, g | (4 + g) << 4);
    return __byte_perm(low_middle, metadata.w, 0x10 | (4 + g) << 8);
}

// d times the bits of a record under the mask: d * (2^23 + bits) - d * 2^23.  It is exact:
// d has 11 significant bits and a field 6.
__device__ float times_field(float d, unsigned record, unsigned mask, patterns p)
{
    return fmaf(d, __uint_as_float((record & mask) | p.two_23), d * -0x1p23f);
}

//: gemv-q4k-superblock
// Adds the lane's share of a superblock to sum: integers first, then f32 products in the
// order of the format, (d * scale) * code - (dmin * min).  High nibbles stay where they
// are, as bytes 16 * code - 128, and high_start makes up for the 128s; fields of the record
// keep their places too, which are the factors 1, 2^6, 2^12 and 2^2.
__device__ float add_superblock(float sum, uint2 codes, uint4 metadata,
                                const activations &a, unsigned g, patterns p)
{
    int low = FLOAT_BITS, high = a.high_start;
    low = __dp4a(static_cast<int>(codes.x & 0x0f0f0f0f), a.low[0], low);
    low = __dp4a(static_cast<int>(codes.y & 0x0f0f0f0f), a.low[1], low);
    high = __dp4a(static_cast<int>((codes.x & 0xf0f0f0f0) ^ p.signs), a.high[0], high);
    high = __dp4a(static_cast<int>((codes.y & 0xf0f0f0f0) ^ p.signs), a.high[1], high);

    const unsigned record = scale_record(metadata, g);
    const float d = half_from_bits(metadata.x & 0xffff);
    const float dmin = half_from_bits(metadata.x >> 16);
    const float low_min = times_field(dmin, record, 63 << 12, p) * a.low_sum;
    const float high_min = times_field(dmin, record >> 16, 63 << 2, p) * a.high_sum;
    const float low_scale = times_field(d, record, 63, p);
    const float high_scale = times_field(d, record, 63 << 6, p);
    sum = fmaf(a.low_d, fmaf(low_scale, small_integer(low), -low_min), sum);
    return fmaf(a.high_d, fmaf(high_scale, small_integer(high), -high_min), sum);
}

//: gemv-q4k-rows
// The thread's shares of ROWS rows of n superblocks; codes, metadata and x: of the first of
// them that is the thread's.  The rows share each load of activations, and all their
// weights are on the way before any is used.
template <int SUPERBLOCKS, int ROWS>
__device__ void add_rows(float (&sum)[ROWS], const uint2 *codes, const uint4 *metadata,
                         const block_q8_1 *x, int n, int first, int lane)
{
    const patterns p = make_patterns();
    const unsigned g = static_cast<unsigned>(lane / 4);
    const int rounds = SUPERBLOCKS > 0 ? SUPERBLOCKS / 8 : (n - first + 7) / 8;
#pragma unroll
    for (int k = 0; k < rounds; k++) {
        uint2 c[ROWS];
        uint4 m[ROWS];
        for (int r = 0; r < ROWS; r++) {
            c[r] = __ldcs(codes + 16 * (r * n + 8 * k));
            m[r] = __ldcs(metadata + r * n + 8 * k);
        }
        const activations a = load_activations(x + 64 * k, lane);
        for (int r = 0; r < ROWS; r++)
            sum[r] = add_superblock(sum[r], c[r], m[r], a, g, p);
    }
}

//: gemv-q4k-kernel
struct group { // the matrices of a launch and the first block of each
    gemv_q4k_matrix matrices[GEMV_Q4K_GROUP];
    int first[GEMV_Q4K_GROUP];
};

// The matrix that a block works on, and of its rows the first that are the block's.
__device__ gemv_q4k_matrix choose(const group &all, int block, int rows_a_block, int *begin)
{
    gemv_q4k_matrix m = all.matrices[0];
    *begin = block * rows_a_block;
    for (int i = 1; i < GEMV_Q4K_GROUP; i++)
        if (block >= all.first[i]) {
            m = all.matrices[i];
            *begin = (block - all.first[i]) * rows_a_block;
        }
    return m;
}

//: gemv-q4k-kernel-body
// SUPERBLOCKS: of a row, where the compiler shall know; else 0.
template <int SUPERBLOCKS, int ROWS>
__global__ void __launch_bounds__(GEMV_THREADS, 8)
    gemv_q4k_kernel(group all, const block_q8_1 *x, int superblocks)
{
    int begin;
    const gemv_q4k_matrix m = choose(all, static_cast<int>(blockIdx.x), ROWS, &begin);
    const int n = SUPERBLOCKS > 0 ? SUPERBLOCKS : superblocks;
    const int first = static_cast<int>(threadIdx.x / 16);
    const int lane = static_cast<int>(threadIdx.x % 16);
    const int row = min(begin, m.rows - ROWS); // a matrix's last two blocks may share rows
    const size_t total = static_cast<size_t>(m.rows) * n;
    const size_t superblock = static_cast<size_t>(row) * n + first;
    const uint2 *codes = reinterpret_cast<const uint2 *>(m.packed) + 16 * superblock;
    const uint4 *metadata = reinterpret_cast<const uint4 *>(m.packed) + 8 * total;
    float sum[ROWS] = {};
    add_rows<SUPERBLOCKS>(sum, codes + lane, metadata + superblock, x + 8 * first, n, first,
                          lane);
    gemv_store_rows(m.y, m.residual, row, begin, sum);
}

//: gemv-q4k-launch
template <int ROWS>
void launch_rows(const gemv_q4k_matrix *matrices, int count, const block_q8_1 *x,
                 int columns, cudaStream_t stream)
{
    group all = {};
    int blocks = 0;
    for (int i = 0; i < GEMV_Q4K_GROUP; i++) {
        all.first[i] = blocks; // past the grid's end where there is no matrix
        if (i < count) {
            all.matrices[i] = matrices[i];
            blocks += (matrices[i].rows + ROWS - 1) / ROWS;
        }
    }
    const auto kernel = columns == 4096    ? gemv_q4k_kernel<16, ROWS>
                        : columns == 12288 ? gemv_q4k_kernel<48, ROWS>
                                           : gemv_q4k_kernel<0, ROWS>;
    launch(stream, blocks, GEMV_THREADS, kernel, all, x, columns / 256);
}
} // namespace

//: gemv-q4k-launchers
// More rows a block save loads of activations; fewer make more blocks, which a small matrix
// needs to keep every multiprocessor busy.  The bits of a row do not depend on it.
void gemv_q4k_group_cuda(const struct gemv_q4k_matrix *matrices, int count,
                         const struct block_q8_1 *x, int columns, cudaStream_t stream)
{
    int total = 0, least = matrices[0].rows;
    for (int i = 0; i < count; i++) {
        total += matrices[i].rows;
        least = matrices[i].rows < least ? matrices[i].rows : least;
    }
    if (total > 2048 && least >= 4)
        launch_rows<4>(matrices, count, x, columns, stream);
    else if (total > 512 && least >= 2)
        launch_rows<2>(matrices, count, x, columns, stream);
    else
        launch_rows<1>(matrices, count, x, columns, stream);
}

void gemv_q4k_cuda(float *y, const uint8_t *packed, const struct block_q8_1 *x,
                   const float *residual, int rows, int columns, cudaStream_t stream)
{
    const gemv_q4k_matrix matrix = {y, packed, residual, rows};
    gemv_q4k_group_cuda(&matrix, 1, x, columns, stream);
}
