"""Make the embedded model pair from the source of the running interpreter's standard library.

Stages, each skipped when its result is already in ``--work``:

1. ``tokenizer``  byte-level BPE with 4,096 entries, ``<|endoftext|>`` = id 0
2. ``target``     a deep and narrow Llama trained on the text
3. ``lessons``    what the draft learns from: standard-library text, and continuations the target
                  itself writes (greedy and sampled), each labelled with the target's top tokens
4. ``draft``      two layers, started from the target's own, distilled on the lessons
5. ``card``       half-precision folders that transformers loads, and the model card

    python tools/train_demo_pair.py --work build/pair --out phrasekit/demo

``--target`` and ``--draft`` take a model that exists already instead of starting from nothing.
Ctrl-C and a second call resume from the last checkpoint. On Linux set the malloc variables named
in CONTRIBUTING.md first, or most of the time goes to page faults.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import sys
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import torch
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from torch.nn import functional as F
from transformers import AutoModelForCausalLM, LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

EOS = "<|endoftext|>"
SKIPPED = {"test", "tests", "idle_test", "site-packages", "__pycache__", "lib2to3"}
VOCABULARY = 4096
TOP = 32  # teacher tokens kept per position; together they hold over 95 % of its mass


@dataclass(frozen=True)
class Plan:
    """Sizes of one training run; the defaults made the pair that ships."""

    width: int = 192
    heads: int = 3
    feed_forward: int = 512
    target_layers: int = 10
    draft_layers: int = 2
    target_steps: int = 4200
    draft_steps: int = 9000
    lessons: int = 9  # shards of each kind
    rows: int = 512  # sequences in a shard
    length: int = 256  # tokens in a sequence
    batch: int = 8
    target_rate: float = 3e-3
    draft_rate: float = 1.5e-3
    seed: int = 0


def main() -> None:
    """Run every stage that has no result yet."""
    args = parse_args()
    torch.manual_seed(args.plan.seed)
    torch.set_num_threads(args.threads)
    args.work.mkdir(parents=True, exist_ok=True)
    train_text, held_text = corpus()
    tokenizer = make_tokenizer(args.work / "tokenizer", train_text, args.target)
    held = encode(tokenizer, held_text, args.plan.length)
    target = args.target and load(args.target)
    target = target or train_target(args, encode(tokenizer, train_text, args.plan.length), held)
    write_lessons(args, tokenizer, target, train_text)
    draft = train_draft(args, target, held)
    write_pair(args, tokenizer, target, draft, held)


def parse_args() -> argparse.Namespace:
    """Read the command line; every field of `Plan` is an option."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--work", type=Path, required=True, help="folder for checkpoints")
    parser.add_argument("--out", type=Path, required=True, help="folder that receives target/ and draft/")
    parser.add_argument("--target", type=Path, help="existing target (with tokenizer) to keep")
    parser.add_argument("--draft", type=Path, help="existing draft to start from")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--checkpoint", type=int, default=500, help="steps between checkpoints")
    for name, kind in Plan.__annotations__.items():
        default = getattr(Plan, name)
        parser.add_argument(
            f"--{name.replace('_', '-')}",
            type=type(default),
            default=default,
            help=f"{kind}, default {default}",
        )
    args = parser.parse_args()
    args.plan = Plan(**{name: getattr(args, name) for name in Plan.__annotations__})
    return args


# ---------------------------------------------------------------------------------- text


def corpus() -> tuple[list[str], list[str]]:
    """Standard-library sources: (training files, every 40th file held out)."""
    root = Path(sysconfig.get_paths()["stdlib"])
    files = sorted(
        path for path in root.rglob("*.py") if not SKIPPED & set(path.relative_to(root).parts[:-1])
    )
    texts = [path.read_text(encoding="utf-8", errors="ignore") for path in files]
    held = [text for i, text in enumerate(texts) if i % 40 == 20]
    return [text for i, text in enumerate(texts) if i % 40 != 20], held


def make_tokenizer(folder: Path, texts: list[str], existing: Path | None) -> PreTrainedTokenizerFast:
    """Train the byte-level BPE, or take the one that lies beside `existing`."""
    if existing:
        return PreTrainedTokenizerFast.from_pretrained(existing)
    if not folder.exists():
        raw = Tokenizer(models.BPE())
        raw.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        raw.decoder = decoders.ByteLevel()
        trainer = trainers.BpeTrainer(
            vocab_size=VOCABULARY, special_tokens=[EOS], initial_alphabet=pre_tokenizers.ByteLevel.alphabet()
        )
        raw.train_from_iterator(texts, trainer)
        PreTrainedTokenizerFast(tokenizer_object=raw, bos_token=EOS, eos_token=EOS).save_pretrained(folder)
    return PreTrainedTokenizerFast.from_pretrained(folder)


def encode(tokenizer: PreTrainedTokenizerFast, texts: list[str], length: int) -> torch.Tensor:
    """All texts in one stream, EOS between them, cut to rows: int64 ``[rows, length]``."""
    stream: list[int] = []
    for ids in tokenizer(texts, add_special_tokens=False)["input_ids"]:
        stream += [tokenizer.eos_token_id, *ids]
    rows = len(stream) // length
    return torch.tensor(stream[: rows * length]).view(rows, length)


# -------------------------------------------------------------------------------- models


def fresh(plan: Plan, layers: int) -> LlamaForCausalLM:
    """A randomly initialised Llama of the plan's width."""
    return LlamaForCausalLM(
        LlamaConfig(
            vocab_size=VOCABULARY,
            hidden_size=plan.width,
            intermediate_size=plan.feed_forward,
            num_hidden_layers=layers,
            num_attention_heads=plan.heads,
            num_key_value_heads=plan.heads,
            max_position_embeddings=2048,
            tie_word_embeddings=True,
            bos_token_id=0,
            eos_token_id=0,
        )
    )


def load(folder: Path) -> LlamaForCausalLM:
    """An existing model in float32."""
    return AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, use_safetensors=True)


def shallow(target: LlamaForCausalLM, plan: Plan) -> LlamaForCausalLM:
    """A draft that starts from the target's embedding, first and last layers (learns 3 × faster)."""
    draft = fresh(plan, plan.draft_layers)
    draft.model.embed_tokens.load_state_dict(target.model.embed_tokens.state_dict())
    draft.model.norm.load_state_dict(target.model.norm.state_dict())
    half = plan.draft_layers // 2
    chosen = [*range(half), *range(plan.target_layers - plan.draft_layers + half, plan.target_layers)]
    for layer, source in zip(draft.model.layers, chosen, strict=True):
        layer.load_state_dict(target.model.layers[source].state_dict())
    return draft


# ------------------------------------------------------------------------------ training


def train_target(args: argparse.Namespace, rows: torch.Tensor, held: torch.Tensor) -> LlamaForCausalLM:
    """Next-token training on the text, batches in a seeded random order."""
    model = fresh(args.plan, args.plan.target_layers)

    def loss_of(step: int) -> torch.Tensor:
        pick = torch.randint(len(rows), (args.plan.batch,), generator=generator_of(args.plan, step))
        return next_token_loss(model, rows[pick])

    fit(args, "target", model, loss_of, steps=args.plan.target_steps, rate=args.plan.target_rate)
    record(args, target_held_loss=held_loss(model, held))
    return model


def train_draft(args: argparse.Namespace, target: LlamaForCausalLM, held: torch.Tensor) -> LlamaForCausalLM:
    """Distil: half cross-entropy with the target's top tokens, half with its argmax.

    Greedy acceptance asks for the argmax alone, sampled acceptance for the distribution.
    """
    draft = load(args.draft) if args.draft else shallow(target, args.plan)
    shards = [load_file(path) for path in sorted((args.work / "lessons").glob("*.safetensors"))]

    def loss_of(step: int) -> torch.Tensor:
        rng = generator_of(args.plan, step)
        shard = shards[int(torch.randint(len(shards), (1,), generator=rng))]
        pick = torch.randint(len(shard["tokens"]), (args.plan.batch,), generator=rng)
        log_q = draft(shard["tokens"][pick].long()).logits.log_softmax(-1)
        best = shard["ids"][pick].long()
        probability = shard["probabilities"][pick].float()
        soft = -(probability * log_q.gather(-1, best)).sum(-1).mean()
        return (soft + F.nll_loss(log_q.flatten(0, 1), best[..., 0].flatten())) / 2

    fit(args, "draft", draft, loss_of, steps=args.plan.draft_steps, rate=args.plan.draft_rate)
    record(args, draft_held_agreement=agreement(target, draft, held))
    return draft


def fit(args, name, model, loss_of, *, steps: int, rate: float) -> None:  # type: ignore[no-untyped-def]
    """AdamW with warm-up and cosine decay, a progress bar, checkpoints and resume."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate, betas=(0.9, 0.98), weight_decay=0.02)
    path = args.work / f"{name}.pt"
    start, average = 0, math.nan
    if path.exists():
        state = torch.load(path, weights_only=True)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        start, average = state["step"], state["average"]
    model.train()

    def note() -> str:
        return f"loss {average:.3f}"

    for step in progress(range(start, steps), f"{name}", note):
        factor = min(1.0, (step + 1) / 100) * (0.02 + 0.98 * (1 + math.cos(math.pi * step / steps)) / 2)
        for group in optimizer.param_groups:
            group["lr"] = rate * factor
        loss = loss_of(step)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        average = loss.item() if math.isnan(average) else 0.99 * average + 0.01 * loss.item()
        if (step + 1) % args.checkpoint == 0 or step + 1 == steps:
            state = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
            torch.save({**state, "step": step + 1, "average": average}, path.with_suffix(".tmp"))
            path.with_suffix(".tmp").replace(path)
            record(args, **{f"{name}_steps": step + 1, f"{name}_loss": average})
    model.eval()


# ------------------------------------------------------------------------------- lessons


def write_lessons(args, tokenizer, target, texts: list[str]) -> None:  # type: ignore[no-untyped-def]
    """Shards of text and of the target's own continuations, each with the teacher's top tokens."""
    plan, folder = args.plan, args.work / "lessons"
    folder.mkdir(exist_ok=True)
    rows = encode(tokenizer, texts, plan.length)
    prompts = header_prompts(tokenizer, texts)
    target.eval()
    for shard in progress(range(2 * plan.lessons), "lessons", lambda: ""):
        path = folder / f"{shard:03d}.safetensors"
        if path.exists():
            continue
        rng = random.Random(f"{plan.seed}/{shard}")
        if shard % 2:
            tokens = rows[torch.tensor(rng.sample(range(len(rows)), min(plan.rows, len(rows))))]
        else:
            tokens = continuations(target, prompts, plan, rng)
        save_file(label(target, tokens), path.with_suffix(".tmp"))
        path.with_suffix(".tmp").replace(path)


def header_prompts(tokenizer: PreTrainedTokenizerFast, texts: list[str]) -> list[list[int]]:
    """Token rows that start at a function or class header, or at the top of a file."""
    starts = []
    for text in texts:
        starts.append(text[:4000])
        lines = text.splitlines(keepends=True)
        for i, line in enumerate(lines):
            if line.lstrip().startswith(("def ", "class ", "async def ")):
                starts.append("".join(lines[max(0, i - i % 7) : i + 60])[:4000])
    return [ids for ids in tokenizer(starts, add_special_tokens=False)["input_ids"] if len(ids) >= 160]


@torch.inference_mode()
def continuations(target, prompts, plan: Plan, rng: random.Random) -> torch.Tensor:  # type: ignore[no-untyped-def]
    """``[rows, length]``: real prompts of 24 to 144 tokens carried on by the target itself."""
    done = []
    while sum(map(len, done)) < plan.rows:
        length = rng.choice((24, 48, 96, 144))
        batch = torch.tensor([ids[:length] for ids in rng.sample(prompts, min(64, len(prompts)))])
        temperature = rng.choice((None, None, 0.7, 1.0))
        sampling = (
            {"do_sample": True, "temperature": temperature, "top_k": 0}
            if temperature
            else {"do_sample": False}
        )
        torch.manual_seed(rng.randrange(2**31))
        done.append(
            target.generate(
                batch,
                attention_mask=torch.ones_like(batch),
                pad_token_id=0,
                min_new_tokens=plan.length - length,
                max_new_tokens=plan.length - length,
                cache_implementation="static",
                **sampling,
            )
        )
    return torch.cat(done)[: plan.rows]


@torch.inference_mode()
def label(target: LlamaForCausalLM, tokens: torch.Tensor) -> dict[str, torch.Tensor]:
    """The target's top tokens and their renormalised probabilities at every position."""
    best = [target(rows).logits.softmax(-1).topk(TOP) for rows in tokens.split(8)]
    values = torch.cat([b.values for b in best])
    return {
        "tokens": tokens.to(torch.int32),
        "ids": torch.cat([b.indices for b in best]).to(torch.int16),
        "probabilities": (values / values.sum(-1, keepdim=True)).half(),
    }


# ---------------------------------------------------------------------------- evaluation


def next_token_loss(model: LlamaForCausalLM, rows: torch.Tensor) -> torch.Tensor:
    """Mean negative log-likelihood in nats a token."""
    return F.cross_entropy(model(rows[:, :-1]).logits.flatten(0, 1), rows[:, 1:].flatten())


@torch.inference_mode()
def held_loss(model: LlamaForCausalLM, held: torch.Tensor) -> float:
    """Loss on the held-out files, nats a token."""
    return float(torch.stack([next_token_loss(model.eval(), rows) for rows in held.split(8)]).mean())


@torch.inference_mode()
def agreement(target: LlamaForCausalLM, draft: LlamaForCausalLM, held: torch.Tensor) -> float:
    """Share of held-out positions where both models have the same argmax."""
    pairs = [(target(rows).logits.argmax(-1), draft(rows).logits.argmax(-1)) for rows in held.split(8)]
    return float(torch.cat([(a == b).flatten() for a, b in pairs]).float().mean())


# -------------------------------------------------------------------------------- output


def write_pair(args, tokenizer, target, draft, held: torch.Tensor) -> None:  # type: ignore[no-untyped-def]
    """Half-precision folders and the model card."""
    record(args, target_held_loss=held_loss(target, held), draft_held_loss=held_loss(draft, held))
    for name, model in (("target", target), ("draft", draft)):
        folder = args.out / name
        model.half().save_pretrained(folder)
        tokenizer.save_pretrained(folder)
    (args.out / "training.json").write_text(json.dumps(facts(args), indent=2) + "\n", encoding="utf-8")
    sys.stdout.write(f"wrote {args.out}/target, {args.out}/draft and training.json\n")


def facts(args: argparse.Namespace) -> dict[str, object]:
    """Everything measured so far."""
    path = args.work / "facts.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def record(args: argparse.Namespace, **values: object) -> None:
    """Add measured values to ``facts.json``."""
    merged = json.dumps({**facts(args), **values}, indent=2)
    (args.work / "facts.json").write_text(merged, encoding="utf-8")


def generator_of(plan: Plan, step: int) -> torch.Generator:
    """The step's own generator, so that a resumed run draws what an unbroken one would."""
    return torch.Generator().manual_seed(plan.seed * 1_000_003 + step)


def progress(steps: range, name: str, note) -> Iterator[int]:  # type: ignore[no-untyped-def]
    """Iterate with a bar, the time left and a note."""
    columns = (
        TextColumn(name),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[note]}"),
    )
    with Progress(*columns) as bar:
        task = bar.add_task(name, total=len(steps), note="")
        for step in steps:
            yield step
            bar.update(task, advance=1, note=note())


if __name__ == "__main__":
    main()
