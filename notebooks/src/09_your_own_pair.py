# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 09 · Your own pair: is it exact, and does it pay?
#
# **Give two model names; get two answers.** First whether each method writes what your target writes alone,
# in your dtype on your device. Then whether it is faster, and if not, why not.
#
# *Time: 10 minutes, and what your models need. With a GPU and model names it runs your pair; without, the
# embedded one, so that the notebook can be read and run anywhere.*
#
# After this notebook you can
#
# 1. check a pair for exactness and tell a flipped tie from a bug;
# 2. measure methods fairly: the same prompts, interleaved, medians, plain decoding as the baseline;
# 3. say from three numbers ($A$, $t_S$, $t_T$) why speculation pays on a pair or does not.

# %% tags=["parameters"]
# Names on the hub, local folders or GGUF files. Any two decoder-only models with one tokenizer.
TARGET = "Qwen/Qwen2.5-7B-Instruct"
DRAFT = "Qwen/Qwen2.5-0.5B-Instruct"
DTYPE = "bfloat16"
TOKENS = 48  # a run; take 256 for numbers that you want to quote
REPEATS = 2  # odd ones out fall by the median; take 5 for numbers that you want to quote

# %%
from dataclasses import replace
from statistics import median

import torch

import phrasekit as pk
from phrasekit.check import check
from phrasekit.theory import Acceptance, best_gamma, speculative_speedup
from phrasekit.views import comparison_info

torch.set_num_threads(1)  # the embedded pair is small: one core is as fast as two


def load():
    """Your pair where there is a GPU and its files are at hand, the embedded pair otherwise."""
    if not torch.cuda.is_available():
        return pk.load_pair(), "no GPU here: the embedded pair stands in"
    try:
        return pk.load_pair(TARGET, DRAFT, device="cuda", dtype=DTYPE), f"{TARGET} with {DRAFT}"
    except (OSError, ValueError) as error:  # not downloaded, offline, or not a pair
        return pk.load_pair(), f"the embedded pair stands in, as {TARGET} did not load: {str(error)[:200]}"


pair, which = load()
print(which)

# %% [markdown]
# The prompts decide as much as the models do: text that repeats itself is easy to guess. Take prompts of the
# kind you will have. These three ask for code, as the embedded pair knows nothing else.

# %%
PROMPTS = [
    "def max_value(a, b):\n    if a > b:\n        return a\n",
    "class Stack:\n    def push(self, item):\n",
    "def _check_size(self, size):\n    if size < 0:\n        raise ValueError(",
]
METHODS = ("speculative", "prompt_lookup", "ouroboros")

# %% [markdown]
# ## 1. Is it exact?
#
# `check` decodes with each method and compares with plain decoding. At a difference it asks whether rounding
# explains it: the two tokens must be a tie within twice the error that this model's *own* forwards show
# between one row and many. Any other difference is a bug, and is called one.

# %%
report = check(pair, PROMPTS, methods=METHODS, max_new_tokens=TOKENS)
print(report.verdict)
assert report.exact, report.divergences
assert report.runs == len(METHODS) * len(PROMPTS) and report.tokens > 100  # it did compare something

# %% [markdown]
# `exact` means all identical; `exact up to ties` is usual in half precision: the listed places were ties, and
# one forward over many rows broke them the other way. Both texts are then equally the model's own.
#
# ## 2. Negative control: would the check notice a bug?
#
# A check that never fails proves nothing. So here is `check` again with a fault put in: in one place the
# method emits the target's *second* choice instead of its first, as a sloppy acceptance rule would. It must
# be found, and rounding must not be taken as an excuse.

# %%
from unittest import mock

from phrasekit.lm.control import stepwise_logits

ids = pair.encode(PROMPTS[0])
text = pk.generate(pair, ids, method="vanilla", max_new_tokens=TOKENS).tokens
top = stepwise_logits(pair.target, ids, text).topk(2, dim=-1)
gaps = top.values[:, 0] - top.values[:, 1]
place = int(gaps.argsort()[len(text) // 2])  # a middling gap: neither a tie nor a certainty


def sloppy(pair, prompt, **options):
    run = pk.generate(pair, prompt, **options)
    if options["method"] == "vanilla":
        return run
    return replace(run, tokens=(*text[:place], int(top.indices[place, 1]), *text[place + 1 :]))


with mock.patch("phrasekit.check.generate", sloppy):
    caught = check(pair, PROMPTS[:1], methods=["speculative"], max_new_tokens=TOKENS)
print(
    f"2e = {2 * report.error:.2g}; the second choice at token {place + 1} lies {float(gaps[place]):.2g} lower"
)
print(caught.verdict)
assert not caught.exact and caught.identical == 0
assert caught.divergences[0].position == place and not caught.divergences[0].explained

# %% [markdown]
# ## 3. Does it pay?
#
# The baseline is plain decoding by the same code. Methods take turns on each prompt, so that a slow minute of
# the machine hits all of them alike; the first round warms up and is not counted; the median counts.
# Each run starts with an empty pool, which is hard on `ouroboros`: a pool that outlives the prompt is worth
# more (notebook 05).

# %%
CONTENDERS = ("vanilla", *METHODS)
runs = {method: [] for method in CONTENDERS}  # by method: repeats, each one trace per prompt
for _ in range(REPEATS + 1):
    for method in CONTENDERS:
        runs[method].append([])
    for prompt in PROMPTS:
        for method in CONTENDERS:
            run = pk.generate(pair, prompt, method=method, max_new_tokens=TOKENS)
            runs[method][-1].append(run.trace)
runs = {method: repeats[1:] for method, repeats in runs.items()}


def ms_per_token(traces):
    """Wall time a token, the forward that reads the prompt left out."""
    measured = [trace.metrics() for trace in traces]
    return sum(m.decode_ms for m in measured) / sum(m.decode_emitted for m in measured)


speed = {method: median(map(ms_per_token, repeats)) for method, repeats in runs.items()}
gain = {method: speed["vanilla"] / ms for method, ms in speed.items()}

print(
    f"{'method':14}{'tokens a target forward':>24}{'drafted a draft forward':>25}{'ms a token':>12}{'speed-up':>10}"
)
for method in CONTENDERS:
    last = [trace.metrics() for trace in runs[method][-1]]
    eta = sum(m.emitted for m in last) / sum(m.iterations for m in last)
    drafting = sum(m.draft_forwards for m in last)
    c = f"{sum(m.drafted for m in last) / drafting:.2f}" if drafting else "-"
    print(f"{method:14}{eta:24.2f}{c:>25}{speed[method]:12.2f}{gain[method]:9.2f}x")
    assert eta > 1 or method == "vanilla"

# %% [markdown]
# ## 4. Why
#
# Eq. 5 needs three numbers, and the record of the `speculative` runs holds them: the chance $p$ that a tested
# token is right, and the times of a draft and a target forward.

# %%
record = [trace for repeat in runs["speculative"] for trace in repeat]
measured = [trace.metrics() for trace in record]
accepted = sum(m.accepted for m in measured)
p = accepted / max(1, accepted + sum(m.rejections for m in measured))
after = [iteration for trace in record for iteration in trace.iterations[1:]]
t_T = median(iteration.forward.ms for trace in runs["vanilla"][-1] for iteration in trace.iterations[1:])
t_S = median(inner.forward.ms for iteration in after for inner in iteration.draft)
t_rows = median(iteration.forward.ms for iteration in after)

acceptance = Acceptance(beyond=p)
best = best_gamma(acceptance, 32, t_draft=t_S, t_target=t_T)
bound = speculative_speedup(acceptance, best, t_draft=t_S, t_target=t_T)
print(f"p = {p:.2f}: a guess is right so often")
print(
    f"t_S / t_T = {t_S:.2f} ms / {t_T:.2f} ms = {t_S / t_T:.2f}: a draft forward costs this part of a target forward"
)
print(f"verifying costs {t_rows / t_T:.2f} target forwards over one row (Eq. 5 takes 1)")
print(f"Eq. 5: at best {bound:.2f}x, with γ = {best}")
assert 0 <= p <= 1 and bound >= 1 and speculative_speedup(acceptance, 0, t_draft=t_S, t_target=t_T) == 1

# %% [markdown]
# ## Signature result: the verdict

# %%
PAYS = 1.05  # less than 5 % is not worth a second model in memory


def verdict(gain, bound, p, ratio):
    """One sentence: does speculation pay here, and if not, what stands in its way?"""
    best = max((method for method in gain if method != "vanilla"), key=gain.get)
    if gain[best] >= PAYS:
        return f"It pays: {best} is {gain[best]:.2f} times as fast as plain decoding, with the same text."
    if bound < PAYS:
        return (
            f"It does not pay: a draft forward costs {ratio:.2f} target forwards and a guess is right with "
            f"{p:.2f}, so Eq. 5 allows {bound:.2f}x at best. A smaller or a better draft model would help."
        )
    return (
        f"It does not pay: Eq. 5 would allow {bound:.2f}x, but the best, {best}, reaches {gain[best]:.2f}x. The rest "
        "goes to verifying many rows and to work between forwards; look at a trace's timeline."
    )


print(verdict(gain, bound, p, t_S / t_T))

# %% [markdown]
# The sentence is computed. So that you can trust it on *your* numbers, here it is on made-up ones that have
# a known answer:

# %%
# NBVAL_CHECK_OUTPUT
print("cheap, good draft: ", verdict({"vanilla": 1.0, "speculative": 2.1}, 2.4, 0.8, 0.1))
print("draft = target:    ", verdict({"vanilla": 1.0, "speculative": 0.93}, 1.0, 1.0, 1.0))
print("much between:      ", verdict({"vanilla": 1.0, "speculative": 0.98}, 1.6, 0.7, 0.2))

# %% [markdown]
# ## When speculation does not pay: the perfect draft model
#
# The surest way to lose is a draft model that is always right: the target itself. It agrees with each
# guess, so a round yields γ + 1 tokens, and costs γ + 1 target forwards. Acceptance is half of the matter only.

# %%
perfect = replace(pair, draft=pair.target, defaults={})
run = pk.generate(perfect, PROMPTS[0], method="speculative", knobs=pk.Knobs(gamma=4), max_new_tokens=TOKENS)
m = run.trace.metrics()
forwards = m.iterations + m.draft_forwards
rate = 1.0 if m.acceptance_rate is None else m.acceptance_rate
print(
    f"accepted {rate:.0%} of the drafted tokens; {forwards} forwards of the large model for {m.emitted} tokens"
)
assert forwards >= m.emitted  # nothing saved
assert speculative_speedup(Acceptance(beyond=1.0), 4, t_draft=1.0, t_target=1.0) == 1.0

# %% [markdown]
# Other places where it does not pay, whatever the pair: many sequences at once (the target's forward is then
# limited by arithmetic and extra rows cost their full price); very short answers (the pool never warms up); high
# temperatures (a guess is right less often); a target so small that the work between forwards weighs.
#
# ## Try it yourself
#
# Change the γ and see how far the measured best is from that of Eq. 5. Or put your own prompt in: the text of
# the two runs must agree, and the verdict of the comparison says whether it does.

# %%
MY_PROMPT, MY_GAMMA = PROMPTS[1], 6
plain = pk.generate(pair, MY_PROMPT, method="vanilla", max_new_tokens=TOKENS)
mine = pk.generate(pair, MY_PROMPT, knobs=pk.Knobs(gamma=MY_GAMMA), max_new_tokens=TOKENS)
comparison = comparison_info(plain.trace, mine.trace, names=("plain", f"γ = {MY_GAMMA}"))
print(comparison.verdict)
assert comparison.identical or pair.target.adapter.dtype != torch.float32  # in half precision a tie may flip

# %% [markdown]
# ## Honest limits
#
# - Three prompts and a few dozen tokens give a first impression and no number to quote: `phrasekit bench`
#   measures with more prompts, error bars, and against transformers' own `generate`.
# - Times hold for this machine, now. Other work on it shows in them; the counts do not depend on it.
# - On the embedded pair (5.2 M and 1.7 M parameters on a CPU) work between forwards weighs much, and its
#   text repeats itself. Neither carries over to a pair of billions on a GPU.
# - `check` compares greedy text. For sampling, see `01_speculative_decoding`, sections 6 and 7.
#
# From a shell, the same: `phrasekit check --help`, `phrasekit compare --help`, `phrasekit bench --help`.
