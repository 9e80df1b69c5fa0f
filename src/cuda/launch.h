//: launch
// Launching a kernel: the one place where a grid meets its arguments.
#ifndef LANEWISE_CUDA_LAUNCH_H
#define LANEWISE_CUDA_LAUNCH_H

#include <cuda_fp16.h>
#include <cuda_runtime.h>

// Queues kernel(arguments...) on the stream, to be run by each thread of grid blocks of
// block threads.  Returns before it has run.  A launch that fails leaves its error with the
// runtime, where the caller's next cudaGetLastError finds it.
template <class... P, class... A>
void launch(cudaStream_t stream, dim3 grid, dim3 block, void (*kernel)(P...),
            A... arguments)
{
    cudaLaunchConfig_t config = {};
    config.gridDim = grid;
    config.blockDim = block;
    config.stream = stream;
    cudaLaunchKernelEx(&config, kernel, static_cast<P>(arguments)...);
}

#endif
