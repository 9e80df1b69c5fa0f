#!/usr/bin/env python3
"""Trains the tales model and writes it as an F16 GGUF file.

    OUT=folder train_tales.py        # reads all.txt.xz beside this script

The model is a dense Qwen3: RMSNorm before every matrix and on each head's query and key, rotary
positions, grouped queries, SwiGLU, an embedding table that is also the output matrix.  Made with
PyTorch 2.11, tokenizers 0.23, transformers 5.17 and the gguf package of llama.cpp, on one H200.
Afterwards `llama-quantize tales-f16.gguf tales-Q4_K_M.gguf Q4_K_M` makes the file in data/.

STEPS (3500) and TRAIN_S (240 seconds) bound the training, whichever is reached first; the model
in data/ had 3,000 steps.
"""

import json
import lzma
import math
import os
import time
from dataclasses import dataclass
from pathlib import Path

import gguf
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

STEPS = int(os.environ.get("STEPS", "3500"))
SECONDS = float(os.environ.get("TRAIN_S", "240"))
BATCH, LENGTH = 96, 512  # sequences a step, tokens a sequence
DROPOUT = 0.12
PEAK_RATE, WARM_UP, FLOOR = 2e-3, 100, 0.03  # the learning rate's course
SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
QWEN_WORDS = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
DEVICE = "cuda"
started = time.time()


@dataclass
class Shape:
    """Hyperparameters, under the names of the GGUF keys that they become."""

    vocabulary: int = 4096
    embedding: int = 256
    feed_forward: int = 768
    layers: int = 6
    heads: int = 4
    kv_heads: int = 2
    head_dim: int = 128
    theta: float = 1e6
    epsilon: float = 1e-6
    context: int = 2048


SHAPE = Shape()


def log(*words):
    print(f"[{time.time() - started:6.1f}s]", *words, flush=True)


# ---- Tokens ----------------------------------------------------------------------------------


def read_books():
    corpus = Path(__file__).resolve().parent / "all.txt.xz"
    text = lzma.open(corpus, "rt", encoding="utf-8").read()
    return text.split("\n<|endoftext|>\n")


def train_tokenizer(books):
    """Byte-level BPE behind Qwen's pre-tokenizer; the special tokens come after it."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(QWEN_WORDS), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=SHAPE.vocabulary - len(SPECIAL),
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        special_tokens=[],
    )
    tokenizer.train_from_iterator(books, trainer)
    return tokenizer


def list_tokens(tokenizer):
    """The tokens by id, and the merges by rank, each as "left right"."""
    model = json.loads(tokenizer.to_str())["model"]
    tokens = [None] * len(model["vocab"])
    for token, number in model["vocab"].items():
        tokens[number] = token
    merges = [m if isinstance(m, str) else " ".join(m) for m in model["merges"]]
    return tokens + SPECIAL, merges


def encode_books(tokenizer, books, end_of_text):
    """The first 95 % of every book to train on, the rest to validate with."""
    ids = [np.array([end_of_text] + tokenizer.encode(b).ids, dtype=np.int64) for b in books]
    train = np.concatenate([x[: -len(x) // 20] for x in ids])
    validate = np.concatenate([x[-len(x) // 20 :] for x in ids])
    return train, validate


# ---- The model -------------------------------------------------------------------------------


class RMSNorm(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.w = nn.Parameter(torch.ones(size))

    def forward(self, x):
        v = x.float()
        scale = torch.rsqrt(v.pow(2).mean(-1, keepdim=True) + SHAPE.epsilon)
        return (v * scale * self.w).to(x.dtype)


def rotate(x, positions):
    """RoPE: element i turns together with element i + head_dim / 2."""
    half = x.shape[-1] // 2
    exponents = torch.arange(half, device=x.device, dtype=torch.float64) * 2 / x.shape[-1]
    angles = positions.to(torch.float64)[:, None] * SHAPE.theta**-exponents
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    a, b = x[..., :half], x[..., half:]
    return torch.cat([a * cos - b * sin, b * cos + a * sin], -1)


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        s = SHAPE

        def matrix(columns, rows):
            return nn.Linear(columns, rows, bias=False)

        self.attn_norm = RMSNorm(s.embedding)
        self.attn_q = matrix(s.embedding, s.heads * s.head_dim)
        self.attn_k = matrix(s.embedding, s.kv_heads * s.head_dim)
        self.attn_v = matrix(s.embedding, s.kv_heads * s.head_dim)
        self.attn_output = matrix(s.heads * s.head_dim, s.embedding)
        self.attn_q_norm = RMSNorm(s.head_dim)
        self.attn_k_norm = RMSNorm(s.head_dim)
        self.ffn_norm = RMSNorm(s.embedding)
        self.ffn_gate = matrix(s.embedding, s.feed_forward)
        self.ffn_up = matrix(s.embedding, s.feed_forward)
        self.ffn_down = matrix(s.feed_forward, s.embedding)

    def attend(self, h, positions):
        s, (batch, length, _) = SHAPE, h.shape

        def heads_of(x, count):
            return x.view(batch, length, count, s.head_dim)

        q = self.attn_q_norm(heads_of(self.attn_q(h), s.heads)).transpose(1, 2)
        k = self.attn_k_norm(heads_of(self.attn_k(h), s.kv_heads)).transpose(1, 2)
        v = heads_of(self.attn_v(h), s.kv_heads).transpose(1, 2)
        sharing = s.heads // s.kv_heads
        k = rotate(k, positions).repeat_interleave(sharing, 1)
        v = v.repeat_interleave(sharing, 1)
        out = F.scaled_dot_product_attention(rotate(q, positions), k, v, is_causal=True)
        return self.attn_output(out.transpose(1, 2).reshape(batch, length, -1))

    def forward(self, x, positions):
        a = self.attend(self.attn_norm(x), positions)
        x = x + F.dropout(a, DROPOUT, self.training)
        h = self.ffn_norm(x)
        f = self.ffn_down(F.silu(self.ffn_gate(h)) * self.ffn_up(h))
        return x + F.dropout(f, DROPOUT, self.training)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.token_embd = nn.Embedding(SHAPE.vocabulary, SHAPE.embedding)
        self.layers = nn.ModuleList([Layer() for _ in range(SHAPE.layers)])
        self.output_norm = RMSNorm(SHAPE.embedding)
        for p in self.parameters():
            if p.dim() > 1:
                nn.init.normal_(p, 0, 0.02)
        for layer in self.layers:  # what is added to the stream starts smaller
            for matrix in (layer.attn_output, layer.ffn_down):
                nn.init.normal_(matrix.weight, 0, 0.02 / math.sqrt(2 * SHAPE.layers))

    def forward(self, ids):
        positions = torch.arange(ids.shape[1], device=ids.device)
        x = F.dropout(self.token_embd(ids), DROPOUT, self.training)
        for layer in self.layers:
            x = layer(x, positions)
        return F.linear(self.output_norm(x), self.token_embd.weight)


# ---- Training --------------------------------------------------------------------------------


def loss_of(logits, targets):
    return F.cross_entropy(logits.float().view(-1, SHAPE.vocabulary), targets.reshape(-1))


def draw(ids, count, generator=None):
    """Sequences from random places, and what follows each of their tokens."""
    starts = torch.randint(0, len(ids) - LENGTH - 1, (count,), device=DEVICE, generator=generator)
    rows = ids[starts[:, None] + torch.arange(LENGTH + 1, device=DEVICE)[None]]
    return rows[:, :-1], rows[:, 1:]


def evaluate(model, ids):
    """The mean loss of 8 batches, the same ones each time."""
    model.eval()
    generator = torch.Generator(device=DEVICE).manual_seed(5)
    total = 0.0
    with torch.no_grad(), torch.autocast(DEVICE, torch.bfloat16):
        for _ in range(8):
            x, y = draw(ids, 48, generator)
            total += loss_of(model(x), y).item()
    model.train()
    return total / 8


def learning_rate(step, done):
    """Up over the first steps, then down along a cosine to 3 %; done goes from 0 to 1."""
    cosine = 0.5 * (1 + math.cos(math.pi * min(1, done)))
    return PEAK_RATE * min(1, (step + 1) / WARM_UP) * (FLOOR + (1 - FLOOR) * cosine)


def make_optimizer(model):
    matrices = [p for p in model.parameters() if p.dim() > 1]
    vectors = [p for p in model.parameters() if p.dim() <= 1]
    groups = [
        {"params": matrices, "weight_decay": 0.15},
        {"params": vectors, "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=1e-3, betas=(0.9, 0.95), fused=True)


def train(model, train_ids, validation_ids):
    """Leaves the weights of the best evaluation in the model."""
    optimizer, compiled = make_optimizer(model), torch.compile(model)
    best, best_weights = 9.0, None
    began, step = time.time(), 0
    model.train()
    while (done := max(step / STEPS, (time.time() - began) / SECONDS)) < 1:
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(step, done)
        x, y = draw(train_ids, BATCH)
        with torch.autocast(DEVICE, torch.bfloat16):
            logits = compiled(x)
        loss = loss_of(logits, y)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        step += 1
        if step % 250 == 0 or step == 1:
            validation = evaluate(model, validation_ids)
            log("step", step, "loss", round(loss.item(), 4), "validation", round(validation, 4))
            if validation < best:
                best = validation
                best_weights = {k: t.detach().clone() for k, t in model.state_dict().items()}
    validation = evaluate(model, validation_ids)
    log("end", step, "validation", validation)
    if validation > best + 0.005:
        model.load_state_dict(best_weights)
        log("took the best", best)


# ---- The file --------------------------------------------------------------------------------


def write_metadata(writer, tokens, merges):
    s, end_of_text = SHAPE, len(tokens) - len(SPECIAL)
    writer.add_name("Tales 7M")
    writer.add_description(
        "A small Qwen3-architecture model trained on public-domain fairy tales"
    )
    writer.add_license("CC0-1.0")
    writer.add_context_length(s.context)
    writer.add_embedding_length(s.embedding)
    writer.add_block_count(s.layers)
    writer.add_feed_forward_length(s.feed_forward)
    writer.add_head_count(s.heads)
    writer.add_head_count_kv(s.kv_heads)
    writer.add_key_length(s.head_dim)
    writer.add_value_length(s.head_dim)
    writer.add_rope_freq_base(s.theta)
    writer.add_layer_norm_rms_eps(s.epsilon)
    writer.add_file_type(1)  # mostly F16
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("qwen2")
    writer.add_token_list(tokens)
    writer.add_token_types([1] * end_of_text + [3] * len(SPECIAL))  # normal, control
    writer.add_token_merges(merges)
    writer.add_eos_token_id(end_of_text)
    writer.add_bos_token_id(end_of_text)
    writer.add_pad_token_id(end_of_text)
    writer.add_add_bos_token(False)


def write_gguf(path, weights, tokens, merges):
    """Norms stay F32, matrices become F16; modules are named as the file's tensors are."""
    writer = gguf.GGUFWriter(path, "qwen3")
    write_metadata(writer, tokens, merges)
    for name, values in weights.items():
        kind = np.float32 if values.ndim == 1 else np.float16
        name = name.replace("layers.", "blk.").removesuffix(".w").removesuffix(".weight")
        writer.add_tensor(name + ".weight", np.ascontiguousarray(values.astype(kind)))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


# ---- A second opinion ------------------------------------------------------------------------

TRANSFORMERS_NAMES = {
    "attn_norm": "input_layernorm",
    "attn_q_norm": "self_attn.q_norm",
    "attn_k_norm": "self_attn.k_norm",
    "ffn_norm": "post_attention_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}


def transformers_model(weights):
    from transformers import Qwen3Config, Qwen3ForCausalLM

    s = SHAPE
    config = Qwen3Config(
        vocab_size=s.vocabulary,
        hidden_size=s.embedding,
        intermediate_size=s.feed_forward,
        num_hidden_layers=s.layers,
        num_attention_heads=s.heads,
        num_key_value_heads=s.kv_heads,
        head_dim=s.head_dim,
        max_position_embeddings=s.context,
        rms_norm_eps=s.epsilon,
        tie_word_embeddings=True,
        rope_parameters={"rope_type": "default", "rope_theta": s.theta},
        use_sliding_window=False,
    )
    renamed = {}
    for name, values in weights.items():
        parts = name.split(".")
        if parts[0] == "layers":
            target = f"model.layers.{parts[1]}.{TRANSFORMERS_NAMES[parts[2]]}.weight"
        else:
            target = f"model.{'norm' if parts[0] == 'output_norm' else 'embed_tokens'}.weight"
        renamed[target] = torch.from_numpy(values).double()
    renamed["lm_head.weight"] = renamed["model.embed_tokens.weight"]
    other = Qwen3ForCausalLM(config).double().eval()
    log("loaded", other.load_state_dict(renamed, strict=False))
    return other


def compare(model, weights, ids):
    """The largest difference of logits, all in float64, from transformers' own Qwen3."""
    other = transformers_model(weights)
    ids = torch.from_numpy(ids)[None]
    with torch.no_grad():
        difference = other(ids).logits - model.double().cpu()(ids)
    log("largest difference from transformers", difference.abs().max().item())


def main():
    out = Path(os.environ["OUT"])
    books = read_books()
    tokenizer = train_tokenizer(books)
    tokens, merges = list_tokens(tokenizer)
    train_ids, validation_ids = encode_books(tokenizer, books, len(tokens) - len(SPECIAL))
    log("tokens to train on", len(train_ids), "to validate with", len(validation_ids))

    torch.manual_seed(1)
    torch.backends.cuda.matmul.allow_tf32 = True
    model = Model().to(DEVICE)
    log(sum(p.numel() for p in model.parameters()) / 1e6, "million weights")
    train(model, *(torch.from_numpy(x).to(DEVICE) for x in (train_ids, validation_ids)))

    model.eval().float()
    weights = {k: t.detach().float().cpu().numpy() for k, t in model.state_dict().items()}
    write_gguf(str(out / "tales-f16.gguf"), weights, tokens, merges)
    (out / "tokenizer.json").write_text(tokenizer.to_str())
    compare(model, weights, validation_ids[:200])


if __name__ == "__main__":
    main()
