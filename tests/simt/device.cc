//: simt-properties
// What the emulated device says of itself: an RTX 4090.  How many registers a kernel uses
// only nvcc knows; registers.tsv keeps its answers for sm_89, so that the occupancy here is
// that of the real device and every choice made from it is the same.
#include "simt.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>

constexpr int SM_COUNT = 128, SM_THREADS = 1536, SM_REGISTERS = 65536, SM_BLOCKS = 24,
              SM_SHARED = 100 << 10, RESERVED_SHARED = 1 << 10, BLOCK_SHARED = 48 << 10,
              L2 = 72 << 20, BUS_BITS = 384, MEMORY_KHZ = 10501000, CORE_KHZ = 2520000;

// "none" in SIMT_CAPABILITY is a machine without a device, "8.6" one with an older device.
static const char *capability()
{
    const char *text = getenv("SIMT_CAPABILITY");
    return text != nullptr ? text : "8.9";
}
cudaError_t cudaGetDeviceCount(int *count)
{
    *count = strcmp(capability(), "none") == 0 ? 0 : 1;
    return *count > 0 ? cudaSuccess : simt_fail(cudaErrorNoDevice);
}
cudaError_t cudaGetDevice(int *device)
{
    *device = 0;
    return cudaSuccess;
}
cudaError_t cudaSetDevice(int device)
{
    return device == 0 ? cudaSuccess : simt_fail(cudaErrorInvalidDevice);
}
cudaError_t cudaDriverGetVersion(int *version)
{
    *version = 13000;
    return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int *version)
{
    return cudaDriverGetVersion(version);
}
cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr attribute, int device)
{
    static const struct {
        cudaDeviceAttr attribute;
        int value;
    } known[] = {
        {cudaDevAttrMaxThreadsPerBlock, int(SIMT_MAX_THREADS)},
        {cudaDevAttrMaxSharedMemoryPerBlock, BLOCK_SHARED},
        {cudaDevAttrWarpSize, warpSize},
        {cudaDevAttrMaxRegistersPerBlock, SM_REGISTERS},
        {cudaDevAttrClockRate, CORE_KHZ},
        {cudaDevAttrMultiProcessorCount, SM_COUNT},
        {cudaDevAttrMemoryClockRate, MEMORY_KHZ},
        {cudaDevAttrGlobalMemoryBusWidth, BUS_BITS},
        {cudaDevAttrL2CacheSize, L2},
        {cudaDevAttrMaxThreadsPerMultiProcessor, SM_THREADS},
        {cudaDevAttrComputeCapabilityMajor, 8},
        {cudaDevAttrComputeCapabilityMinor, 9},
        {cudaDevAttrMaxSharedMemoryPerMultiprocessor, SM_SHARED},
        {cudaDevAttrMaxRegistersPerMultiprocessor, SM_REGISTERS},
        {cudaDevAttrMaxBlocksPerMultiprocessor, SM_BLOCKS},
        {cudaDevAttrReservedSharedMemoryPerBlock, RESERVED_SHARED},
    };
    if (device != 0)
        return simt_fail(cudaErrorInvalidDevice);
    for (const auto &k : known)
        if (k.attribute == attribute) {
            *value = k.value;
            return cudaSuccess;
        }
    return simt_fail(cudaErrorInvalidValue);
}

//: simt-device
cudaError_t cudaGetDeviceProperties(cudaDeviceProp *p, int device)
{
    if (device != 0)
        return simt_fail(cudaErrorInvalidDevice);
    *p = {};
    strcpy(p->name, "NVIDIA GeForce RTX 4090 (emulated)");
    size_t free;
    cudaMemGetInfo(&free, &p->totalGlobalMem);
    p->sharedMemPerBlock = BLOCK_SHARED;
    p->sharedMemPerMultiprocessor = SM_SHARED;
    p->reservedSharedMemPerBlock = RESERVED_SHARED;
    sscanf(capability(), "%d.%d", &p->major, &p->minor);
    p->multiProcessorCount = SM_COUNT;
    p->warpSize = warpSize;
    p->maxThreadsPerBlock = int(SIMT_MAX_THREADS);
    p->maxThreadsPerMultiProcessor = SM_THREADS;
    p->maxBlocksPerMultiProcessor = SM_BLOCKS;
    p->regsPerBlock = SM_REGISTERS;
    p->regsPerMultiprocessor = SM_REGISTERS;
    p->l2CacheSize = L2;
    p->memoryBusWidth = BUS_BITS;
    return cudaSuccess;
}

//: simt-registers
// The table, copied into the program: file, kernel, registers, bytes of shared memory, of
// stack and of spills, parted by tabs.
asm(R"(.section .rodata
simt_registers: .incbin "tests/simt/registers.tsv"
    .byte 0
    .text
)");
extern "C" const char simt_registers[] asm("simt_registers");

cudaError_t simt_function_attributes(cudaFuncAttributes *attributes, const void *kernel)
{
    const std::string name = simt_symbol(kernel), field = "\t" + name + "\t";
    const char *row = strstr(simt_registers, field.c_str());
    int registers, shared, stack;
    if (row == nullptr ||
        sscanf(row + field.size(), "%d %d %d", &registers, &shared, &stack) != 3) {
        fprintf(stderr, "simt: tests/simt/registers.tsv has no %s; run make registers\n",
                name.c_str());
        return simt_fail(cudaErrorInvalidDeviceFunction);
    }
    const int most = std::min(int(SIMT_MAX_THREADS), SM_REGISTERS / registers / 32 * 32);
    *attributes = {size_t(shared), size_t(stack), most, registers};
    return cudaSuccess;
}

//: simt-occupancy
static int round_up(int n, int unit)
{
    return (n + unit - 1) / unit * unit;
}
// Registers are given to a warp 256 at a time, and each quarter of an SM, which has a
// quarter of the registers, takes whole warps.  Shared memory goes to a block 128 bytes at
// a time, and 1 KiB more for the system.
cudaError_t simt_occupancy(int *blocks, const void *kernel, int threads, size_t dynamic)
{
    cudaFuncAttributes a;
    *blocks = 0;
    if (threads <= 0)
        return simt_fail(cudaErrorInvalidValue);
    if (const cudaError_t error = simt_function_attributes(&a, kernel);
        error != cudaSuccess)
        return error;
    const int warps = (threads + 31) / 32;
    const int warps_in_quarter = SM_REGISTERS / 4 / round_up(a.numRegs * 32, 256);
    const int shared = round_up(int(a.sharedSizeBytes + dynamic), 128) + RESERVED_SHARED;
    if (threads <= int(SIMT_MAX_THREADS) && shared - RESERVED_SHARED <= BLOCK_SHARED)
        *blocks = std::min({SM_BLOCKS, SM_THREADS / 32 / warps,
                            warps_in_quarter * 4 / warps, SM_SHARED / shared});
    return cudaSuccess;
}
