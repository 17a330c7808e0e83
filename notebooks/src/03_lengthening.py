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
# # 03 · Lengthening: phrases behind the draft, almost for free
#
# **One sentence.** When the whole draft is right, speculative decoding gets one more token and stops; Ouroboros hangs
# $K$ pool phrases behind the draft's last token and lets the *same* target forward decide which of them goes on.
#
# **After this notebook you can**
#
# 1. say which phrases are chosen as suffixes, and what $K$ and $\beta$ count;
# 2. read the verification tree and its attention mask row by row;
# 3. say why shared prefixes cost one row and not $K$;
# 4. tell $A$ (accepted draft) from $\hat A$ (accepted suffix), and why $\hat A$ counts only when $A = g$;
# 5. say when suffixes are dead weight.
#
# **Before**: notebooks 01 and 02. About 15 minutes, nothing is downloaded.

# %%
import os

os.environ |= {"HF_HUB_OFFLINE": "1", "HF_HUB_DISABLE_PROGRESS_BARS": "1", "TOKENIZERS_PARALLELISM": "false"}

import random
import time

import torch

import phrasekit as pk
from phrasekit import views
from phrasekit.trace.metrics import measure

torch.manual_seed(0)
torch.set_num_threads(1)
pair = pk.load_pair()

PROMPTS = {
    "cache": (
        "class Cache:\n    def __init__(self, size):\n        self.size = size\n        self.items = {}\n\n"
        "    def get(self, key, default=None):\n        return self.items.get(key, default)\n\n    def set("
    ),
    "queue": (
        'class Queue:\n    """A first-in first-out queue with a maximum size."""\n\n'
        "    def __init__(self, maxsize=0):\n"
    ),
    "sort": "def quicksort(items):\n",
}
TOKENS = 64
# A little temperature makes livelier text than greedy. A draw belongs to seed and position, not to the method: plain
# decoding writes the same text and is the baseline of every experiment below.
SAMPLING = {"temperature": 0.5, "seed": 1}
plain = {
    name: pk.generate(pair, text, method="vanilla", max_new_tokens=TOKENS, **SAMPLING)
    for name, text in PROMPTS.items()
}


def run(method, knobs, pools=None):
    """All prompts; the numbers of all together, and CPU seconds."""
    start, traces = time.process_time(), []
    for name, text in PROMPTS.items():
        pool = None if pools is None else pools()
        made = pk.generate(
            pair, text, method=method, knobs=knobs, max_new_tokens=TOKENS, pool=pool, **SAMPLING
        )
        assert made.tokens == plain[name].tokens, f"{method} changed the text of {name!r}"
        traces.append(made.trace)
    return measure(*traces), time.process_time() - start, traces


# %% [markdown]
# ## The tree that the target sees
#
# Let $d_1 \dots d_g$ be the draft. The pool is asked for phrases that **start with** $d_g$; the $K$ most recent ones
# become suffixes. A phrase of length $\beta$ starts with $d_g$ itself ($p_1 = d_g$), so it brings $\beta - 1$ new
# tokens. Draft, suffixes and the last committed token go through **one** target forward.
#
# Two suffixes must not see each other: each is a different future of the same draft. So every row looks at
# the cache, at its own ancestors and at itself, and at nothing else. That is the mask.

# %%
KNOBS = pk.Knobs(gamma=4, suffixes=3, beta=5, level=5, guesses=4)
full, t_full, traces = run("ouroboros", KNOBS)


def spared(tree):
    """Rows that suffixes with a common beginning share."""
    return len(tree.trunk) + sum(len(branch.nodes) for branch in tree.branches) - len(tree.tokens)


def interest(step):
    """A suffix was accepted, beside others that were not, and some of them begin alike."""
    kept = step.suffix_accepted
    return (max(kept) > 0, len(set(kept)) > 1, spared(step.tree) > 0, max(kept))


trace, step = max(
    (
        (trace, step)
        for trace in traces
        for step in trace.iterations
        if step.drafted and len(step.tree.branches) > 1 and step.accepted == step.drafted
    ),
    key=lambda found: interest(found[1]),
)
print(views.tree_view(trace, step.index + 1))

# %% [markdown]
# How to read it. One line per row of the forward. **Left**: the position; the indent is the depth in the tree; ✓ was
# kept, ✗ is where a branch broke and what the target wanted instead, = is right as a token but stands behind a
# break. Letters name who proposed it: d draft model, p a phrase that the draft model confirmed, s suffix,
# t the target's own token. **Right**: the mask, in the same order of rows. `x` is the row itself, `o` a row it looks
# at. The draft is a solid triangle; below it every suffix repeats the draft's columns and then has a small
# triangle of its own. Where two suffixes meet there are only dots: they do not know of each other.
#
# Two suffixes that begin alike are one branch up to where they part (a *trie*), so a shared token is one row.
# The same as a picture:

# %%
views.tree_view(trace, step.index + 1)

# %%
tree = step.tree
print(f"rows of the tree: {len(tree.tokens)}; without sharing it would be {len(tree.tokens) + spared(tree)}")
saved = sum(spared(step.tree) for trace in traces for step in trace.iterations)
print(f"rows spared by sharing over all runs: {saved}")
info = views.tree_info(trace, step.index + 1)
for place, line in enumerate(info.mask):  # the mask is the ancestor relation, nothing else
    chain, at = set(), place
    while at >= 0:
        chain.add(at)
        at = info.rows[at].parent
    assert chain == {column for column, sign in enumerate(line) if sign in "ox"}
print("the mask shows every row its ancestors and itself, and nothing else")

# %% [markdown]
# ## The choice
#
# The target's verdicts walk the tree: through the draft as long as they agree, and behind $d_g$ into the suffix that
# agrees longest. $\hat A$ is how far each suffix went.

# %%
print(
    "draft",
    [trace.texts[token] for token in (tree.tokens[node] for node in tree.trunk)],
    "accepted",
    step.accepted,
)
for branch, kept in zip(tree.branches, step.suffix_accepted, strict=True):
    print("  suffix", [trace.texts[tree.tokens[node]] for node in branch.nodes], "Â =", kept)
print(
    "emitted",
    len(step.emitted),
    "tokens by one target forward:",
    [trace.texts[token] for token in step.emitted],
)
assert len(step.emitted) == step.accepted + max(step.suffix_accepted) + 1, (
    "draft, best suffix, one from the target"
)

# %% [markdown]
# ## The signature result: more tokens per target forward, for no draft forward
#
# $K = 0$ is the baseline: the same drafting and harvesting, nothing behind the draft.

# %%
by_count, times = {}, {}
for count in (0, 1, 3, 6):
    numbers, seconds, _ = run("ouroboros", KNOBS.but(suffixes=count))
    by_count[count], times[count] = numbers, seconds
    print(
        f"K = {count}   tokens per target forward = {numbers.block_efficiency:.2f}   "
        f"rows per target forward = {numbers.rows_per_target_forward:4.1f}   "
        f"mean Â = {numbers.mean_suffix_accepted or 0:.2f}   draft forwards a token = "
        f"{numbers.draft_forwards_per_token:.2f}   time / (K = 0) = {seconds / times[0]:.2f}"
    )
assert by_count[3].block_efficiency > by_count[0].block_efficiency, "suffixes lengthen what a forward emits"
assert by_count[3].draft_forwards <= by_count[0].draft_forwards, "without one more draft forward"
assert by_count[6].rows_per_target_forward > by_count[1].rows_per_target_forward, (
    "every further suffix is more rows"
)

# %% [markdown]
# The first suffix does most for the tokens per target forward. With three, $\hat A$ rises further, since the newest
# phrase is not always the right one (in the tree above the third wins); beyond that the pool rarely knows
# more ways to go on from a token, and a larger $K$ brings rows or nothing. The paper finds the same shape on large
# models: speed rises up to $K$ of 3 to 5, then falls.
#
# ## $\beta$: how long a suffix should be

# %%
by_length = {beta: run("ouroboros", KNOBS.but(beta=beta))[0] for beta in (2, 3)} | {5: full}
for beta, numbers in by_length.items():
    print(
        f"β = {beta} (β − 1 = {beta - 1} new tokens)   mean Â = {numbers.mean_suffix_accepted or 0:.2f}   "
        f"tokens per target forward = {numbers.block_efficiency:.2f}"
    )
    assert (numbers.mean_suffix_accepted or 0) <= beta - 1, "a suffix cannot bring more than β − 1"
assert by_length[5].mean_suffix_accepted > by_length[2].mean_suffix_accepted

# %% [markdown]
# $\hat A$ is bounded by $\beta - 1$, and a phrase from the pool is at most $N$ tokens long when it comes from the
# window or the committed text: $\beta$ beyond $N$ is mostly idle.
#
# ## Negative control: a pool of nonsense
#
# Put random phrases under every key and switch all harvesting off. The tree is as bushy as before and the target
# forward pays for every row. If suffixes helped by anything but their content, it would show here. The yardstick is
# speculative decoding with the same $\gamma$.

# %%
# NBVAL_CHECK_OUTPUT
words = sorted({token for made in plain.values() for token in made.tokens})


def nonsense():
    chance, pool = random.Random(1), pk.PhrasePool()
    for key in words:
        for _ in range(3):
            pool.insert([key, *(chance.randrange(1, 4096) for _ in range(4))], "window")
    return pool


OFF = pk.Knobs(gamma=4, window=0, guesses=0, harvest_discarded=False, repair="off", harvest_committed=False)
empty, t_empty, _ = run("speculative", OFF)
useless, t_useless, _ = run("ouroboros", OFF.but(suffixes=3, beta=5), pools=nonsense)
print("target forwards saved by nonsense suffixes:", empty.iterations - useless.iterations)
print("more than twice the rows:", useless.rows_per_target_forward > 2 * empty.rows_per_target_forward)
print("prompts with the text of plain decoding:", len(PROMPTS), "of", len(plain))
assert useless.suffix_rounds > 0, "suffixes were there to be tested"
assert useless.iterations == empty.iterations

# %%
print(f"time with nonsense suffixes / time of speculative decoding = {t_useless / t_empty:.2f}")

# %% [markdown]
# Nonsense costs rows (and so time, where rows cost time), never a wrong token.
#
# ## When suffixes cannot help
#
# A suffix counts only when the **whole** draft was accepted. If the draft usually breaks early, its last token is
# rarely reached. How often that happened here:

# %%
for gamma in (4, 10):
    numbers, _, made = run("ouroboros", KNOBS.but(gamma=gamma))
    whole = sum(
        step.drafted > 0 and step.accepted == step.drafted for trace in made for step in trace.iterations
    )
    print(
        f"γ = {gamma:2}: whole draft accepted in {whole} of {numbers.drafting} iterations; "
        f"tokens per target forward = {numbers.block_efficiency:.2f}"
    )
    assert whole < numbers.drafting

# %% [markdown]
# ## Try it yourself
#
# Set `gamma=0`: no draft at all, the suffixes hang behind the last committed token and the pool alone drafts. What is
# lost, what is saved? Then give `gamma=0` a `suffixes=8`.

# %%
mine = KNOBS.but(gamma=0)
numbers, seconds, _ = run("ouroboros", mine)
print(
    f"tokens per target forward = {numbers.block_efficiency:.2f}, draft forwards = {numbers.draft_forwards}, "
    f"time / (γ = 4) = {seconds / t_full:.2f}; the text is the same"
)
assert numbers.draft_forwards == 0

# %% [markdown]
# ## Honest limits
#
# - Times are CPU ratios of this run on one thread; a handful of prompts cannot rank close settings.
# - "For free" means *for no draft forward*. The rows are computed; whether that costs time depends on the machine.
#   Waiting for memory hides rows, a busy processor does not.
# - The paper emits $\beta - 1$ tokens at most from a suffix that matches whole, as the published code drops the
#   target's token behind it; phrasekit keeps that token, as the verdict is there.
# - On the paper's pair (Yi 34B/6B, HumanEval) lengthening took 49.9 to 55.9 tokens a second: useful, and much
#   smaller than the step before it.
#
# **Next**: [04, harvesting](04_harvesting.ipynb): what to do with the tokens that lost.
# **Source**: Ouroboros, [arXiv 2402.13720](https://arxiv.org/abs/2402.13720), section 3.2, Fig. 6, Table 4.
