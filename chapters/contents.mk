# The table of contents is the build plan: a chapter brings parts, and may use only parts of
# its own and of earlier chapters.  A part P is src/P.h with src/P.c (what runs on a CPU) and
# src/cuda/P.cu (the kernel), each where it exists, tested by tests/P_test.c and
# tests/cuda/P_test.cu.  Every line of a part stands in the chapter that brings the part.
chapter-00 :=                                     # Preface
chapter-01 := error file_map tensor_type gguf_cursor gguf_value gguf gguf_get # A file full of tensors
chapter-02 := half quant_blocks stream launch embed # 256 weights in 144 bytes
chapter-03 := q4k_repack embed_q4k                # Weights laid out for a warp
chapter-04 := reduce q8_1 q8_1_device                # Activations become bytes
chapter-05 := q8_1_wide gemv_q4k_naive gemv_rows gemv_q4k # One row, one dot product
chapter-06 := gemv_q6k gemv_float residual        # Six bits, and adding on the way out
chapter-07 := rmsnorm rmsnorm_device              # Keeping numbers tame
chapter-08 := rope                                # Position as rotation
chapter-09 := kv_cache attention                  # Looking back
chapter-10 := split_count split_merge             # Many hands, one answer
chapter-11 := swiglu                              # A gate for every value
chapter-12 := argmax                              # Choosing a token
chapter-13 := backend backend_cpu                 # One interface, one machine
chapter-14 := model decoder                       # A layer, then all of them
chapter-15 := cuda_state staging backend_cuda graphs # On the GPU, a token in one call
chapter-16 := utf8 heap bpe vocabulary pretokenizer tokenizer chat sampler # Text to tokens and back
chapter-17 := synth bench                         # Measuring
chapter-18 := options output session generation commands generate converse inspect score measure main # The program
