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
# # 02 · Phrase drafting: a draft model that writes several tokens a forward
#
# **One sentence.** In speculative decoding the draft model becomes the bottleneck, because it still writes one
# token a forward; give it a *lookahead window* that invents phrases and a *pool* that keeps them, and it writes
# $c > 1$ tokens a forward, with the target's text unchanged.
#
# **After this notebook you can**
#
# 1. say what the window's $W$ columns and $N$ levels hold, and read a phrase off a column;
# 2. follow a phrase from the window into the pool and from the pool into the draft;
# 3. measure $c$ and say which part of it is the window's and which the pool's;
# 4. say what $W$ costs, in rows of the draft forward and in measured time;
# 5. say when the whole machinery does nothing.
#
# **Before**: notebook 01 (draft, verify, accept). About 15 minutes. The model pair is part of the package: nothing
# is downloaded.

# %%
import os

os.environ |= {"HF_HUB_OFFLINE": "1", "HF_HUB_DISABLE_PROGRESS_BARS": "1", "TOKENIZERS_PARALLELISM": "false"}

import time

import torch

import phrasekit as pk
from phrasekit import views
from phrasekit.trace.metrics import measure

torch.manual_seed(0)
torch.set_num_threads(1)
pair = pk.load_pair()  # the embedded pair: 5.2 M and 1.7 M parameters

PROMPTS = {
    "sort": "def quicksort(items):\n",
    "stack": (
        'class Stack:\n    """A last-in first-out stack."""\n\n'
        "    def __init__(self):\n        self.items = []\n\n    def push(self, item):\n"
    ),
    "csv": (
        "import csv\n\n\ndef read_rows(path, delimiter=','):\n"
        '    """Yield each row of a CSV file as a dict."""\n'
    ),
}
TOKENS = 64

# The baseline is plain decoding of the target. Every experiment below must write exactly this.
plain = {
    name: pk.generate(pair, text, method="vanilla", max_new_tokens=TOKENS) for name, text in PROMPTS.items()
}


def run(method, knobs, prompts=PROMPTS):
    """All prompts, each with an empty pool; the numbers of all together, and CPU seconds."""
    start, traces = time.process_time(), []
    for name in prompts:
        made = pk.generate(pair, PROMPTS[name], method=method, knobs=knobs, max_new_tokens=TOKENS)
        assert made.tokens == plain[name].tokens, f"{method} changed the text of {name!r}"
        traces.append(made.trace)
    return measure(*traces), time.process_time() - start, traces


print(plain["stack"].text)

# %% [markdown]
# ## The bottleneck
#
# With $\gamma$ draft tokens per iteration, plain speculative decoding spends $\gamma$ draft forwards before the
# target gets to say anything. That is the term $\gamma\, t_S$ in Eq. 5 of the paper. Eq. 6 divides it by $c$, the
# number of tokens that one draft forward brings.
#
# Token-by-token drafting has $c = 1$ by construction. Let us see that first: it is the baseline for all that follows.

# %%
# NBVAL_CHECK_OUTPUT
GAMMA = 6
speculative, t_speculative, _ = run("speculative", pk.Knobs(gamma=GAMMA))
print("draft tokens per draft forward, c =", speculative.tokens_per_draft_forward)
print("same text as plain decoding: yes, on", len(PROMPTS), "prompts of", TOKENS, "tokens")
assert speculative.tokens_per_draft_forward == 1

# %% [markdown]
# ## A window that guesses ahead
#
# The draft model's forward has room for more rows than it needs. Lookahead decoding fills that room with a window of
# guesses for *future* positions: $W$ columns, side by side, and $N-1$ levels, one below the other. Each level is what
# the model said last time about the level above, a step further along. A guess far ahead is often wrong as
# *the token at that position*. But a **column**, read from top to bottom, is a short sequence that the model itself
# predicted step by step: key, follower, follower, …. That is a phrase, and it goes into the pool under its key.
#
# Rows of the window are computed in the same forward as the real token and are never emitted.
#
# Here only the window and the pool are on: nothing is appended for the target and nothing is harvested, so every
# phrase below was invented by the draft model's own window.

# %%
WINDOW_ONLY = pk.Knobs(
    gamma=GAMMA, window=5, level=5, guesses=5,
    suffixes=0, harvest_discarded=False, repair="off", harvest_committed=False,
)  # fmt: skip
phrased, t_phrased, traces = run("ouroboros", WINDOW_ONLY)
one = traces[1]
views.window_view(one)

# %% [markdown]
# The upper part is a **space-time table**: one line per draft forward, one column per position of the text. Read
# down a column and you see guesses for one position change from forward to forward until they settle; a guess that
# equals what was finally written there is marked as converged. The lower part is one forward in full, with the
# phrases read off its columns.
#
# The same as text, for readers without the picture:

# %%
print(views.window_view(one))

# %% [markdown]
# ## From the window to the pool to the draft
#
# Before each draft forward the pool is asked for phrases whose key is the last token. Up to $G$ of them ride along
# as branches and are checked *in the same forward*, by the draft model itself. If a phrase starts as the draft model
# would have gone on, the draft grows by all matching tokens plus one. This is speculative decoding again, one level
# down: the pool drafts for the draft model.

# %%
step = next(step for step in one.iterations if any(len(inner.emitted) > 2 for inner in step.draft))
inner = next(inner for inner in step.draft if len(inner.emitted) > 2)
text = one.texts
print(f"iteration {step.index + 1}, draft forward {inner.index + 1}; last token {text[inner.root]!r}")
for phrase in inner.pool.retrieved:
    print("   the pool offers", [text[token] for token in phrase.tokens[1:]], "from", phrase.source)
print("   this forward drafted", [text[token] for token in inner.emitted], "as", list(inner.kinds))
assert len(inner.emitted) > 1, "one draft forward, several draft tokens"

# %% [markdown]
# ## The signature result: $c$, and what $W$ costs
#
# $W = 0$ with an empty pool *is* speculative decoding. A small window already brings most of $c$. Widening it goes on
# adding phrases, but the rows of each draft forward grow with about $W\,(N-1)$, and rows are not free on a
# processor that computes rather than waits for memory.

# %%
sweep = {}
for width in (0, 2, 5, 12):
    knobs = WINDOW_ONLY.but(window=width, guesses=5)
    numbers, seconds, made = run("ouroboros", knobs)
    forwards = [
        inner for trace in made for step in trace.iterations for inner in step.draft[0 if step.index else 1 :]
    ]
    rows = sum(inner.forward.rows for inner in forwards) / len(forwards)
    sweep[width] = numbers
    print(
        f"W = {width:2}   c = {numbers.tokens_per_draft_forward:.2f}   "
        f"draft forwards a token = {numbers.draft_forwards_per_token:.2f}   rows a draft forward = {rows:5.1f}   "
        f"phrases = {numbers.pool_size:3}   time / speculative = {seconds / t_speculative:.2f}"
    )
    if width == 0:
        narrow_rows = rows
assert sweep[0].tokens_per_draft_forward == 1 and sweep[0].pool_size == 0
assert all(sweep[width].tokens_per_draft_forward > 1.2 for width in (2, 5, 12)), "the window makes c > 1"
assert sweep[12].pool_size > sweep[2].pool_size > 0, "a wider window finds more phrases"
assert rows > 3 * narrow_rows, "and costs rows"

# %% [markdown]
# The last column is a ratio of CPU times within this run (one thread; it differs from machine to machine and is
# never asserted). Read the table from both ends: *draft forwards a token* keeps falling, *rows* keep rising,
# and where the product is best depends on the machine. The paper runs on GPUs with spare arithmetic and uses $W$
# in the teens, up to 20; on a CPU with a small draft model the best window is narrow, or none, once other
# sources fill the pool (notebook 04).
#
# ## Negative control 1: a window whose phrases nobody uses
#
# Is $c > 1$ really due to the phrases, or does the window help in some other way? Keep the window and its rows,
# but ask the pool for nothing ($G = 0$).

# %%
# NBVAL_CHECK_OUTPUT
idle, t_idle, idle_traces = run("ouroboros", WINDOW_ONLY.but(guesses=0))
print("window on, guesses off: c =", idle.tokens_per_draft_forward)
print("draft forwards as in speculative decoding:", idle.draft_forwards == speculative.draft_forwards)
assert idle.pool_size > 50, "the pool did fill"
assert idle.tokens_per_draft_forward == 1 and idle.draft_forwards == speculative.draft_forwards

# %% [markdown]
# The window filled the pool with phrases and paid for all its rows, and bought nothing: $c$ is 1 to the last digit.
# The gain comes from *verified phrases* only.
#
# ## Negative control 2: a text that does not repeat itself
#
# At a high temperature the target writes text without habits. Fewer phrases fit. The text is still the same as plain
# decoding's, since a draw belongs to its position and seed and not to the method.

# %%
wild = {"temperature": 1.2, "seed": 5}
reference = pk.generate(pair, PROMPTS["stack"], method="vanilla", max_new_tokens=48, **wild)
made = pk.generate(pair, PROMPTS["stack"], method="ouroboros", knobs=WINDOW_ONLY, max_new_tokens=48, **wild)
assert made.tokens == reference.tokens
calm = traces[1].metrics().tokens_per_draft_forward
print(f"c on greedy text {calm:.2f}, on wild text {made.trace.metrics().tokens_per_draft_forward:.2f}")
print(repr(made.text[:100]))
assert made.trace.metrics().tokens_per_draft_forward < calm

# %% [markdown]
# ## Try it yourself
#
# Predict first, then run: what happens to $c$ with $N = 3$ (short phrases)? With $N = 8$? With `window=12, guesses=1`?

# %%
mine = WINDOW_ONLY.but(level=3)
numbers, seconds, _ = run("ouroboros", mine, prompts=["sort"])
print(f"c = {numbers.tokens_per_draft_forward:.2f}, phrases = {numbers.pool_size}, the text is the same")

# %% [markdown]
# ## Honest limits
#
# - The embedded models are tiny and like to repeat themselves, which favours every method that reuses phrases. Do not
#   carry the size of $c$ over to another pair; carry over the mechanism, and measure.
# - A few prompts and 64 tokens each: enough to see the mechanism, too little to rank settings.
# - $c$ counts all drafted tokens. Those the target refuses are drafted in vain, however cheaply.
# - On the paper's pair (Yi 34B/6B, HumanEval) drafting with phrases took speculative decoding from 21.5 to 49.9
#   tokens a second, the largest single step of its ablation. A processor whose arithmetic is busy sees less.
#
# **Next**: [03, lengthening](03_lengthening.ipynb): phrases behind the draft, for the target.
# **Sources**: Ouroboros, [arXiv 2402.13720](https://arxiv.org/abs/2402.13720), section 3.1 and Eq. 5–6; lookahead
# decoding, [arXiv 2402.02057](https://arxiv.org/abs/2402.02057).
