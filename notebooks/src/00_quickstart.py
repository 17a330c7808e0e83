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
# # 00 · Quickstart: watch one iteration
#
# **A small model guesses, a large model checks many guesses at once, and the text stays exactly what the
# large model would have written alone.** In the next minute you will see that happen, token by token.
#
# *Time: 1 minute to look, 10 to read. Needs no network, no GPU, no download.*
#
# After this notebook you can
#
# 1. say of every token of a text whether the **draft model**, a **phrase** from the pool, or the **target**
#    itself put it there;
# 2. say why a proposed branch lost;
# 3. tell exactness (the text) from speed (the number of target forwards), and check both;
# 4. name a setting under which all of this is wasted work.

# %%
import torch

import phrasekit as pk
from phrasekit.views import comparison_info, stream_view
from phrasekit.views.stepper import stepper

torch.set_num_threads(1)  # small models: one core is as fast as two

pair = pk.load_pair()  # two small models that come with the package; your own pair: notebook 09
prompt = "def max_value(a, b):\n    if a > b:\n        return a\n"
knobs = pk.Knobs(gamma=5, window=6, level=5, guesses=4, suffixes=3, beta=5)

run = pk.generate(pair, prompt, method="ouroboros", knobs=knobs, max_new_tokens=72)
plain = pk.generate(pair, prompt, method="vanilla", max_new_tokens=72)

assert run.tokens == plain.tokens  # the one promise: the same text, whatever was guessed


# %% [markdown]
# ## Step through it
#
# The picture below is one *iteration*: everything that was proposed, and what the target said about it.
# Step with the buttons or with ← and →; hover a token to follow it through the picture.
#
# It starts at the iteration with the most to see: a whole draft accepted, one suffix that went on
# behind it, and others that lost.


# %%
def worth_seeing(iteration):
    """Who wrote how much, for finding the iteration in which most of them took part."""
    lost = len(iteration.suffix_accepted) - ("suffix" in iteration.kinds)
    return len(set(iteration.kinds)), lost, len(iteration.emitted)


shown = max(run.trace.iterations, key=worth_seeing)
stepper(run.trace, baseline=plain.trace, step=shown.index)

# %% [markdown]
# (You see a few lines of text and no picture? Then this notebook was opened as a page or without trust,
# and scripts are off. Run the cell above, and it steps. The lines say the same.)
#
# **How to read it.**
#
# | you see | it means |
# |---|---|
# | a token from the **draft model** | the small model wrote it, one forward for one token |
# | a token from a **phrase** | it lay in the phrase pool; the small model only confirmed it, several in one forward |
# | a token from a **suffix** | a pool phrase put *behind* the finished draft: it cost the small model nothing |
# | a token from the **target** | nobody proposed it: the large model's own token where the accepted path ends; there is exactly one at the end of each iteration, unless a limit cut it off |
# | a **branch that lost** | at its first wrong token the target says another one; from there on the branch is somebody else's text |
#
# The same iteration, told by the code from its record. Nothing here is measured in seconds, so it comes
# out the same every time:

# %%
# NBVAL_CHECK_OUTPUT
ORIGIN = {
    "draft": "the draft model",
    "phrase": "a phrase, confirmed by the draft model",
    "suffix": "a phrase behind the draft",
    "target": "the target itself",
}


def word(token):
    return repr(run.trace.texts[token])


print(shown, "\n")
for token, kind in zip(shown.emitted, shown.kinds, strict=True):
    print(f"{word(token):>14}  from {ORIGIN[kind]}")

print()
best = max(shown.suffix_accepted)
for number, branch in enumerate(shown.tree.branches, start=1):
    kept = shown.suffix_accepted[number - 1]
    words = "".join(run.trace.texts[shown.tree.tokens[node]] for node in branch.nodes)
    print(f"suffix {number} {words!r} {'won' if kept == best else 'lost'}:", end=" ")
    if kept == len(branch.nodes):
        print("right to its end")
        continue
    node = branch.nodes[kept]
    said = shown.picks[shown.tree.parents[node] + 1]
    wrong = shown.tree.tokens[node]
    print(f"{kept} right, then {word(wrong)} where the target says {word(said)}")

# %% [markdown]
# So a branch loses for one reason only: **the target wants another token at that place.** Never because a
# probability was too low, and never because another branch looked better. Two branches that are both right
# up to some token *are* the same text up to there; the longer one wins and nothing is lost with the other.
#
# The checks below are the answers to "who wrote this?" in code. They fail if the record does not bear them out.

# %%
tree = shown.tree
assert "suffix" in shown.kinds and shown.kinds[-1] == "target"  # what we promised to show
assert shown.emitted == (*(tree.tokens[node] for node in shown.path), shown.picks[(-1, *shown.path)[-1] + 1])
for node in shown.path:  # each accepted token is what the target says behind the token before it
    assert tree.tokens[node] == shown.picks[tree.parents[node] + 1]
losers = [
    branch for branch, kept in zip(tree.branches, shown.suffix_accepted, strict=True) if 0 <= kept < best
]
assert losers  # at least one branch lost, and each holds a token that the target contradicts
for branch in losers:
    assert any(tree.tokens[node] != shown.picks[tree.parents[node] + 1] for node in branch.nodes)
print(f"{len(shown.path)} tokens accepted, {len(losers)} branches lost, 1 token by the target itself")

# %% [markdown]
# ## The whole text, by who wrote it
#
# Colour says who *proposed* a token. The words are the target's in every case: it agreed to each of them.
# (What these tiny models write is only shaped like Python. The mechanism is that of the large ones.)

# %%
stream_view(run.trace, refused=False)

# %% [markdown]
# ## Signature result: the same text from a fraction of the target forwards
#
# Plain decoding is the **baseline**: one target forward a token. The record counts what happened, so this
# table is the same on every machine.

# %%
# NBVAL_CHECK_OUTPUT
print(f"{'method':14}{'tokens':>8}{'target forwards':>17}{'tokens a forward':>18}   same text")
for method in ("vanilla", "speculative", "ouroboros"):
    made = pk.generate(pair, prompt, method=method, knobs=knobs, max_new_tokens=72)
    m = made.trace.metrics()
    same = made.tokens == plain.tokens
    print(f"{method:14}{m.emitted:8}{m.iterations:17}{m.block_efficiency:18.2f}   {same}")
    assert same

# %% [markdown]
# Fewer target forwards is not yet faster: a draft forward costs time too, and a forward over twenty rows
# more than one over a single row. When it pays is the subject of `01_speculative_decoding`; whether it pays
# for *your* models, `09_your_own_pair` measures.
#
# ## Negative control: a drafter that knows nothing
#
# If the text were exact only because the draft is good, bad guesses would show in it. So let the guesses be
# bad on purpose: a pool of nonsense phrases, verified by the target directly, with no draft model to filter
# them.

# %%
# NBVAL_CHECK_OUTPUT
generator = torch.Generator().manual_seed(0)
nonsense = pk.PhrasePool()
for key in sorted(set(plain.tokens)):
    for _ in range(4):
        followers = torch.randint(1, pair.target.vocabulary, (4,), generator=generator).tolist()
        nonsense.insert((key, *followers), "nonsense")

blind = pk.generate(
    pair,
    prompt,
    method="lookahead",
    knobs=pk.Knobs(window=0, level=5, guesses=4, harvest_committed=False),
    pool=nonsense,
    max_new_tokens=72,
)
m = blind.trace.metrics()
guessed = sum(len(iteration.tree.tokens) for iteration in blind.trace.iterations)
print(f"guessed {guessed} tokens, emitted {m.emitted} in {m.iterations} target forwards")
print("same text:", blind.tokens == plain.tokens)
assert blind.tokens == plain.tokens  # wrong guesses cost work, never words
assert guessed > 500 and m.block_efficiency < 1.1  # many guesses, hardly a gain

# %% [markdown]
# ## Try it yourself
#
# Change one thing, run the cell, and look at the comparison: the text must stay, the cuts may move.
#
# - `gamma=1`: hardly any room for phrases. `gamma=12`: long drafts, many of them thrown away.
# - `suffixes=0`: nothing behind the draft any more. Which colour is missing from the stepper?
# - another prompt: `"class Stack:\n    def push(self, item):\n"` (then decode `plain` anew, too).
# - `temperature=0.8, seed=3` for *both* runs: it samples, and the two still agree token for token.

# %%
mine = pk.generate(pair, prompt, method="ouroboros", knobs=knobs.but(gamma=8, suffixes=1), max_new_tokens=72)
assert mine.tokens == run.tokens
print(comparison_info(run.trace, mine.trace, names=("as above", "mine")).verdict)
print(f"target forwards: {len(run.trace.iterations)} above, {len(mine.trace.iterations)} here")
# stepper(mine.trace, baseline=plain.trace)  # take the # away to step through it

# %% [markdown]
# ## What this does not show
#
# - **Speed.** Counts of forwards are exact; seconds depend on the machine, and are left to notebooks 01 and 09.
# - **Quality of real models.** The embedded pair (5.2 M and 1.7 M parameters) repeats itself, which flatters
#   every method that copies or keeps phrases.
# - **Half precision.** "Exact" is token for token in float32, as here. In bfloat16 or float16 a forward over
#   many rows rounds differently from one over a single row, and a tie can flip. `phrasekit check` lists where.
#
# **Next:** `01_speculative_decoding` builds the loop from nothing, `02` to `05` take up one mechanism each.
# The method is [Ouroboros](https://arxiv.org/abs/2402.13720).
