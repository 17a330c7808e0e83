// The stepper: replays one recorded run, iteration by iteration. Vanilla, self-contained, no build step.
//
//   mount(el, info, { step, theme, onStep, onSelect })   draws into an element and returns a handle
//   default export { render }                            the same for anywidget and Panel
//   boot(css)                                            the same for every host element of a static page
//
// `info` is StepperInfo.plain_data(): tokens are numbers into info.texts, phrases numbers into info.phrases, who
// proposed a token and what became of it is one letter each (ROLE, STATE). Nothing about decoding is computed here.
// Text of the trace reaches the page as text nodes only; no markup is ever parsed from it.

const SCHEMA = 2;
const ROLE = {
  d: "draft",
  p: "phrase",
  s: "suffix",
  c: "copy",
  w: "win",
  r: "retrieved",
  j: "rejected",
  g: "guide",
  t: "target",
};
const SOURCE = {
  suffix: "a suffix",
  phrase: "a pool phrase",
  copy: "a copy",
  retrieved: "retrieved text",
  rejected: "rejected drafts",
  guide: "a guide",
};
const FOUND = "crjg"; // copied or retrieved: whole at once, so neighbours are one ribbon
const STATE = { k: "ok", e: "cut", x: "bad", l: "late", n: "off", w: "aside" };
const MARK = { k: "✓", e: "✓", x: "✗", l: "=", n: "≠", w: "" };
const VERDICT = {
  k: "kept",
  e: "right, but the text ends before it",
  x: "first mistake",
  l: "right, but after the first mistake",
  n: "wrong, and after the first mistake",
  w: "window row, never part of the text",
};
const STAGES = ["Draft", "Verify", "Commit", "Learn"];
const KEYS = [
  ["← →", "step inside the iteration"],
  ["⇧ ← →", "previous, next iteration"],
  ["Home End", "first, last iteration"],
  ["Space", "play, pause"],
  ["↑ ↓", "token up, down in the tree"],
  ["Enter", "lock the highlight"],
  ["Esc", "release it"],
  ["L", "legend"],
  ["T", "light, dark"],
  ["?", "this list"],
];
const TICK = 600; // ms a stage while playing; the change itself takes 150
const TEXT_TOKENS = 120; // tokens of text drawn at least; earlier ones on request
const MASK_ROWS = 160;
const REST = 200; // ms without a step before what is out of sight is drawn
const SECTIONS = {
  text: "drawText",
  draft: "drawFilm",
  verify: "drawVerify",
  learn: "drawLearn",
  clock: "drawClock",
};
const LISTED = 8; // phrases of a group shown at once
// read off the parser, so that this file holds no address
const SVG = new DOMParser().parseFromString("<svg></svg>", "text/html").body.firstChild.namespaceURI;

// ---- making elements ------------------------------------------------------------------------------------------

function fill(node, props, kids) {
  for (const name in props) {
    const value = props[name];
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "style") node.style.cssText = value;
    else node.setAttribute(name, value === true ? "" : value);
  }
  return adopt(node, kids);
}
function adopt(node, kids) {
  for (const kid of kids)
    if (Array.isArray(kid)) adopt(node, kid);
    else if (kid !== null && kid !== undefined && kid !== false) node.append(kid);
  return node;
}
function h(spec, props, ...kids) {
  const [tag, ...classes] = spec.split(".");
  const node = document.createElement(tag);
  if (classes.length) node.className = classes.join(" ");
  return fill(node, props, kids);
}
function s(tag, props, ...kids) {
  return fill(document.createElementNS(SVG, tag), props, kids);
}
const svgText = (x, y, words, props) => s("text", { x, y, ...props }, words);
const rect = (x, y, width, height, props) =>
  s("rect", { x, y, width: Math.max(0, width), height: Math.max(0, height), ...props });
const box = (x, y, w, tall) => `M${x} ${y}h${w}v${tall}h${-w}z`;
const plural = (n, one, many) => `${n} ${n === 1 ? one : many || one + "s"}`;
const fixed = (n, digits = 1) => Number(n).toFixed(digits);
const likely = (p) => (p < 0.01 ? "p < 0.01" : `p = ${fixed(p, 2)}`);
const clamp = (n, low, high) => Math.max(low, Math.min(high, n));
const ICONS = {
  first: "M3 3h1.8v10H3zM13 3v10L5.6 8z",
  prev: "M11.5 3v10L4 8z",
  next: "M4.5 3v10L12 8z",
  last: "M11.2 3H13v10h-1.8zM3 3v10l7.4-5z",
  play: "M4 2.5v11L13.5 8z",
  pause: "M4 3h3v10H4zM9 3h3v10H9z",
  theme: "M8 1.5a6.5 6.5 0 1 0 0 13z",
};
function button(icon, label, onclick, kind = "") {
  const extra =
    icon === "theme"
      ? s("circle", { cx: 8, cy: 8, r: 6.2, fill: "none", stroke: "currentColor", "stroke-width": 1.4 })
      : null;
  return h(
    "button.btn" + kind,
    { type: "button", "aria-label": label, title: label, onclick },
    s("svg", { viewBox: "0 0 16 16", "aria-hidden": "true" }, s("path", { d: ICONS[icon] }), extra),
  );
}

// ---- what a token looks like ----------------------------------------------------------------------------------

// A dot per space, a return sign per line break, three and more spaces counted: the same string the eye sees.
function visible(words) {
  return words
    .replace(/\n/g, "⏎")
    .replace(/ {3,}/g, (run) => "·" + run.length)
    .replace(/ /g, "·");
}
function columns(words) {
  let n = 0;
  for (const sign of words) n += sign > "\u10ff" && sign < "\uffdd" && sign !== "⏎" && sign !== "…" ? 1.7 : 1;
  return n;
}
function cut(words, most) {
  const signs = [...words];
  return signs.length > most ? signs.slice(0, most - 1).join("") + "…" : words;
}

// Marks stand for whitespace and cannot be selected; what is copied is the whitespace itself.
function marked(words, copy) {
  if (!/[\n ]/.test(words)) return words;
  if (!copy && !/\n|   /.test(words)) return words.replace(/ /g, "·"); // one text node where nobody copies: chips are many
  return (words.match(/\n+| +|[^\n ]+/g) || []).map((part) => {
    if (part[0] !== "\n" && part[0] !== " ") return part;
    const shown =
      part[0] === "\n"
        ? "⏎".repeat(Math.min(part.length, 4))
        : part.length > 2
          ? "·"
          : "·".repeat(part.length);
    return [
      h("i", { "aria-hidden": "true" }, shown),
      part[0] === " " && part.length > 2 && h("sub", { "aria-hidden": "true" }, String(part.length)),
      copy && part[0] === " " && h("span.cp", null, part),
    ];
  });
}

class Stepper {
  constructor(el, info, options) {
    this.el = el;
    this.options = options;
    this.info = info;
    this.theme = options.theme || "auto";
    this.hover = this.lock = null;
    this.anchor = null;
    this.film = this.later = [];
    this.faded = new Set();
    this.open = new Set();
    this.textTokens = TEXT_TOKENS;
    this.showAll = new Set();
    this.texts = [];
    this.textMarks = new Map();
    this.textFrom = Infinity;
    this.narrow = false;
    this.width = 0;
    this.timer = this.rest = 0;
    this.away = new Set(); // sections out of sight, and of them those not drawn since the last step
    this.late = new Set();
    this.root = h("div.pk-stepper", {
      tabindex: "0",
      role: "group",
      "aria-roledescription": "stepper",
      "aria-label": "phrasekit stepper",
      "data-lm-suppress-shortcuts": "true",
      "data-stage": "learn",
    });
    el.replaceChildren(this.root);
    this.still = matchMedia("(prefers-reduced-motion: reduce)");
    this.watchTheme();
    if (info.notice || !info.steps.length) return void this.drawNotice();
    this.i = clamp(options.step || 0, 0, info.steps.length - 1);
    this.stage = this.stages(this.i) - 1;
    this.drafted = info.steps.some((step) => step.drafted);
    this.measure();
    this.build();
    this.listen();
    this.resize(this.root.clientWidth || el.clientWidth || 960);
    if (typeof ResizeObserver !== "undefined") {
      this.sizes = new ResizeObserver((entries) => {
        const width = Math.round(entries[0].contentRect.width);
        if (width && width !== this.width) requestAnimationFrame(() => this.resize(width));
      });
      this.sizes.observe(this.root);
    }
    this.watchSections();
  }

  // ---- state ----------------------------------------------------------------------------------------------------

  get step() {
    return this.info.steps[this.i];
  }
  drafts(i) {
    return Math.max(1, this.info.steps[i].forwards.length);
  }
  stages(i) {
    return this.drafts(i) + 3;
  } // every draft forward, verify, commit, learn
  get stageName() {
    const at = this.stage - this.drafts(this.i);
    return STAGES[at < 0 ? 0 : at + 1];
  }

  go(i, stage) {
    const { steps } = this.info;
    i = clamp(i, 0, steps.length - 1);
    const moved = i !== this.i;
    const name = this.stageName;
    this.i = i;
    const from = this.drafts(i) - 1;
    this.stage = clamp(
      stage === undefined ? (name === "Draft" ? 0 : from + STAGES.indexOf(name)) : stage,
      0,
      this.stages(i) - 1,
    );
    this.hover = null;
    if (moved) {
      if (this.lock && this.lock.kind === "node") this.select(null);
      this.anchor = null;
      this.draw();
      if (this.options.onStep) this.options.onStep(i);
    }
    this.drawStage();
    this.paint();
  }
  move(by) {
    // one stage
    const stage = this.stage + by;
    if (stage >= 0 && stage < this.stages(this.i)) this.go(this.i, stage);
    else if (stage < 0 && this.i > 0) this.go(this.i - 1, this.stages(this.i - 1) - 1);
    else if (stage > 0 && this.i < this.info.steps.length - 1) this.go(this.i + 1, 0);
    else return false;
    return true;
  }
  stageTo(name) {
    this.go(this.i, name === "Draft" ? 0 : this.drafts(this.i) - 1 + STAGES.indexOf(name));
  }
  play(on = !this.timer) {
    clearInterval(this.timer);
    this.timer = 0;
    if (on && this.still.matches)
      this.move(1); // no motion wanted: play is one step
    else if (on) {
      if (this.i === this.info.steps.length - 1 && this.stageName === "Learn") this.go(0, 0);
      this.timer = setInterval(() => {
        if (!this.root.isConnected || !this.move(1)) this.play(false);
      }, TICK);
    }
    const label = this.timer ? "Pause" : this.still.matches ? "Next step" : "Play";
    this.playButton.setAttribute("aria-label", label);
    this.playButton.title = label;
    this.playButton.setAttribute("aria-pressed", String(Boolean(this.timer)));
    this.playButton.querySelector("path").setAttribute("d", ICONS[this.timer ? "pause" : "play"]);
  }
  select(what) {
    // lock a node or a phrase, or release
    const same = what && this.lock && what.kind === this.lock.kind && what.at === this.lock.at;
    this.lock = same ? null : what;
    if (!this.lock) this.anchor = null;
    if (this.options.onSelect) {
      const sel = this.lock;
      this.options.onSelect(
        !sel ? null : sel.kind === "node" ? { iteration: this.i, node: sel.at } : { phrase: sel.at },
      );
    }
    this.paint();
  }

  watchTheme() {
    this.dark = matchMedia("(prefers-color-scheme: dark)");
    this.onDark = () => this.applyTheme();
    this.dark.addEventListener("change", this.onDark);
    this.applyTheme();
  }
  applyTheme() {
    let theme = this.theme;
    if (theme === "auto") {
      // the notebook's own theme counts for more than the system's
      const { body, documentElement: page } = document;
      const lab = body.dataset.jpThemeLight,
        code = body.dataset.vscodeThemeKind || "",
        colab = page.getAttribute("theme");
      const named = lab ? lab === "false" : code ? code.includes("dark") : colab ? colab === "dark" : null;
      theme = (named === null ? this.dark.matches : named) ? "dark" : "light";
    }
    this.root.dataset.theme = theme;
  }
  toggleTheme() {
    this.theme = this.root.dataset.theme === "dark" ? "light" : "dark";
    this.applyTheme();
  }

  // A step draws what is in sight; the rest follows when it comes into sight, or when the stepping rests.
  watchSections() {
    if (typeof IntersectionObserver === "undefined") return;
    this.sights = new IntersectionObserver(
      (entries) => {
        for (const { target, isIntersecting } of entries)
          if (isIntersecting) this.away.delete(target.dataset.section);
          else this.away.add(target.dataset.section);
        this.catchUp([...this.late].filter((name) => !this.away.has(name)));
      },
      { rootMargin: "20%" },
    );
    for (const section of this.root.querySelectorAll("[data-section]")) this.sights.observe(section);
  }
  catchUp(names = [...this.late]) {
    if (!names.length) return;
    for (const name of names) {
      this.late.delete(name);
      this[SECTIONS[name]]();
    }
    this.drawStage();
    this.paint();
  }

  measure() {
    // width of one monospace sign; a hidden page has none
    const probe = h(
      "span",
      { style: "position:absolute;visibility:hidden;white-space:pre;font:13px/20px var(--mono)" },
      "0".repeat(40),
    );
    this.root.append(probe);
    this.ch = probe.getBoundingClientRect().width / 40 || 7.83;
    probe.remove();
    this.pen = document.createElement("canvas").getContext("2d");
    if (this.pen) this.pen.font = "13px " + getComputedStyle(this.root).fontFamily;
  }
  wide(words) {
    return this.pen ? this.pen.measureText(words).width : words.length * 6.6;
  }

  restore(faded, open) {
    if (!this.part) return;
    for (const entry of this.part.legend.querySelectorAll("[data-filter]"))
      if (faded.has(entry.dataset.filter)) this.fade(entry.dataset.filter, entry);
    for (const name of open) if (this.part["twin-" + name]) this.part["twin-" + name].parentNode.open = true;
  }
  destroy() {
    clearInterval(this.timer);
    clearTimeout(this.rest);
    if (this.sizes) this.sizes.disconnect();
    if (this.sights) this.sights.disconnect();
    this.dark.removeEventListener("change", this.onDark);
    this.el.replaceChildren();
  }

  // ---- chips ------------------------------------------------------------------------------------------------------

  phrase(at) {
    const [tokens, source, born, uses, fate] = this.info.phrases[at];
    return { tokens, origin: this.info.sources[source], born, uses, fate };
  }
  words(t) {
    return t < 0 ? "" : this.info.texts[t];
  }
  look(t, most = 18) {
    return cut(visible(this.words(t)), most);
  }
  chip(t, cls = "", { key, copy = false, most = 18, words } = {}) {
    const shown = words === undefined ? this.words(t) : words;
    const node = document.createElement("span");
    node.className = "tk " + cls;
    const kids = marked(cut(shown, most), copy);
    if (typeof kids === "string") node.textContent = kids;
    else fill(node, null, kids);
    if (key) {
      node.dataset.key = key;
      this.mark(key, node);
    }
    return node;
  }
  ribbon(tokens, cls, keys) {
    const chips = tokens.map((t, k) =>
      this.chip(t, typeof cls === "function" ? cls(k) : cls, { key: keys && keys(k) }),
    );
    return chips.length > 1 ? h("span.rib", null, chips) : chips;
  }
  pieces(parts, cls = "quiet") {
    return parts.map((part) => (typeof part === "string" ? part : this.chip(part, cls)));
  }
  mark(key, node) {
    const { marks } = this;
    if (!marks.has(key)) marks.set(key, []);
    marks.get(key).push(node);
  }

  // ---- the frame, once ----------------------------------------------------------------------------------------------

  drawNotice() {
    const { notice } = this.info;
    this.root.append(
      h(
        "div.sec.empty",
        { role: notice ? "alert" : "status" },
        h(
          "p.lead",
          null,
          h("b", null, notice ? "This trace cannot be shown" : "Nothing to step through yet"),
        ),
        h("p.q2", null, notice || "The run has no iteration. Take a step, and it appears here."),
      ),
    );
  }

  build() {
    const { info } = this;
    this.part = {};
    const part = (name, spec = "div", props) => (this.part[name] = h(spec, props));
    const again = (name) =>
      h(
        "details.twin",
        { ontoggle: (event) => this.twin(name, event.target) },
        h("summary", null, "Show as table"),
        part("twin-" + name),
      );
    const section = (name, title, ...kids) =>
      h(
        `details.sec.${name}`,
        { open: true, "data-section": name },
        h("summary.head", null, h("h2", null, title), part(name + "-note", "span.q")),
        ...kids,
      );
    this.playButton = button("play", this.still.matches ? "Next step" : "Play", () => this.play());
    const legend = part("legend", "div.legend");
    const text = part("text", "div");
    const mask = part("mask", "div.maskbox.scroll");
    fill(this.root, null, [
      h(
        "div.top",
        null,
        h("span.brand", null, info.method),
        part("meta", "div.meta"),
        h("span.grow"),
        part("proof", "span.same"),
        button("theme", "Light or dark", () => this.toggleTheme(), ".quiet"),
      ),
      h(
        "div.ctl",
        null,
        h(
          "div.steps",
          null,
          button("first", "First iteration", () => this.go(0)),
          button("prev", "Previous iteration", () => this.go(this.i - 1)),
          part("count", "div.count"),
          button("next", "Next iteration", () => this.go(this.i + 1)),
          button("last", "Last iteration", () => this.go(info.steps.length - 1)),
          this.playButton,
        ),
        h(
          "div.phase",
          { role: "group", "aria-label": "Step inside the iteration" },
          STAGES.map((name) =>
            h(
              "button",
              { type: "button", "data-name": name, onclick: () => this.stageTo(name) },
              name,
              h("span.of"),
            ),
          ),
        ),
        h("span.grow"),
        h(
          "div.keys",
          null,
          [
            ["← →", "step"],
            ["⇧ ← →", "iteration"],
            ["Space", "play"],
            ["Esc", "release"],
            ["?", "keys"],
          ].map(([key, what]) =>
            h(
              "span",
              null,
              key.split(" ").map((one) => h("kbd", null, one)),
              " ",
              what,
            ),
          ),
        ),
      ),
      h("figure.strip", null, this.stripLegend(), part("strip"), again("run")),
      h("div.say", null, part("lead", "p.lead", { "aria-live": "polite" }), part("facts", "div.facts")),
      section(
        "text",
        "Text so far",
        h(
          "div.two",
          null,
          h("div.stream", { tabindex: "0", role: "region", "aria-label": "Generated text" }, text),
          legend,
        ),
      ),
      section("draft", "Draft", part("film", "div.film", { tabindex: "-1" })),
      section("verify", "Verify", part("vwrap", "div.vwrap", null)),
      h(
        "div.lower",
        null,
        section("learn", "Learn", part("learn", "div.learnbody")),
        section(
          "clock",
          "Clock",
          part("clock"),
          h("h3", null, "Whole run"),
          part("run"),
          part("runsay", "p.s.q"),
        ),
      ),
      part("foot", "div.foot"),
      part("help", "div.help", { hidden: true, role: "dialog", "aria-label": "Keyboard" }),
      part("tips"),
    ]);
    this.part.vwrap.append(
      h(
        "div",
        null,
        h("div.scroll", null, part("comb", "div.comb")),
        part("combsay", "p.s.q"),
        again("tree"),
      ),
      mask,
    );
    this.part.help.append(
      h("h3", null, "Keyboard"),
      h(
        "dl",
        null,
        KEYS.map(([key, what]) => [
          h(
            "dt",
            null,
            key.split(" ").map((one) => h("kbd", null, one)),
          ),
          h("dd", null, what),
        ]),
      ),
    );
    this.drawLegend();
    const { plain } = info;
    if (plain && plain.differs < 0 && plain.checked) {
      this.part.proof.append(h("b", null, "✓"), " same text as plain decoding");
      this.part.proof.title = `checked token by token: ${plain.checked} of ${plain.checked}`;
    } else if (plain && plain.differs >= 0) {
      this.part.proof.classList.add("wrong");
      this.part.proof.append(
        h("b", null, "✗"),
        ` text differs from plain decoding at token ${plain.differs + 1}`,
      );
    }
    const left = info.total - info.steps.length;
    this.part.foot.append(
      info.finish,
      left > 0 ? ` Shown: the first ${info.steps.length} of ${info.total} iterations.` : "",
    );
  }

  stripLegend() {
    const { beyond } = this.runKinds();
    const sign = (kid, words) =>
      h("span", null, s("svg", { width: 11, height: 11, "aria-hidden": "true" }, kid), words);
    return h(
      "figcaption",
      null,
      sign(rect(0, 0, 9, 11, { rx: 2, class: "ghost" }), this.drafted ? "drafted" : "tokens out"),
      this.drafted && [
        sign(s("circle", { cx: 5, cy: 5.5, r: 4.2, class: "inked" }), "A, kept from the front"),
        sign(s("circle", { cx: 5, cy: 5.5, r: 3.9, class: "hollow" }), "#Match, right anywhere in the draft"),
      ],
      [...beyond].map((role) =>
        sign(
          rect(0.5, 0.5, 8, 10, { rx: 2, class: "beyond " + role }),
          `kept from ${SOURCE[role]}`,
        ),
      ),
      h("span.grow"),
      h(
        "span.q",
        null,
        "Tokens per iteration." +
          (!this.drafted
            ? ""
            : this.info.phrases.length
              ? " The gap between the dots is what the phrase pool can save."
              : " The gap between the dots was right, but after the first mistake."),
      ),
    );
  }
  // What was kept that is no draft, by iteration and over the run.
  runKinds() {
    if (!this.kinds) {
      const of = ({ kinds, beyond }) =>
        beyond && ROLE[[..."sgrjcp"].find((kind) => kinds.includes(kind)) || "p"];
      const each = this.info.steps.map(of);
      this.kinds = { each, beyond: new Set(each.filter(Boolean)) };
    }
    return this.kinds;
  }

  drawLegend() {
    const drafts = this.info.steps.some((step) => step.forwards.length);
    const seen = new Set(this.info.steps.flatMap((step) => [...step.kinds, ...step.tree.kinds]));
    const who = [
      ["draft", "d", "draft model"],
      ["phrase", "p", drafts ? "phrase in the draft" : "pool phrase"],
      ["suffix", "s", "phrase as a suffix"],
      ["copy", "c", "copied from earlier text"],
      ["retrieved", "r", drafts ? "retrieved (draft)" : "retrieved text"],
      ["rejected", "j", "from rejected drafts"],
      ["guide", "g", "retrieved (target)"],
      ["target", "t", "the target"],
    ].filter(([, letter]) => seen.has(letter));
    const verdicts = [
      ["ok", "kept"],
      ["bad", "first mistake"],
      ["late", "right, but after it"],
      ["off", "wrong, and after it"],
    ];
    const most = drafts || !who.length ? "draft" : who[0][0] === "target" ? "draft" : who[0][0];
    const swatch = {
      draft: ["get"],
      phrase: ["_", "name"],
      suffix: [".", "path"],
      copy: ["self", "."],
      retrieved: ["self", "."],
      rejected: ["self", "."],
      guide: ["self", "."],
      target: ["name"],
    };
    const sample = (words, cls) => {
      const chips = words.map((word) => this.chip(-1, cls, { words: word }));
      return chips.length > 1 ? h("span.rib", null, chips) : chips;
    };
    this.counts = {};
    const entry = (id, words, chips) =>
      h(
        "li",
        null,
        h(
          "button",
          {
            type: "button",
            "aria-pressed": "true",
            "data-filter": id,
            onclick: (event) => this.fade(id, event.currentTarget),
          },
          h("span.sw", { "aria-hidden": "true" }, chips),
          h("span", null, words),
          (this.counts[id] = h("span.k")),
        ),
      );
    this.marks = new Map();
    const proposed = this.info.steps.some((step) => step.tree.tokens.length);
    fill(this.part.legend, null, [
      h(
        "div",
        null,
        h("h3", null, "Who proposed it"),
        h("p.s.q", null, "tokens in the text so far"),
        h(
          "ul",
          null,
          who.map(([id, , words]) => entry(id, words, sample(swatch[id], id))),
        ),
      ),
      proposed &&
        h(
          "div",
          null,
          h("h3", null, "What the target said"),
          h("p.s.q", null, this.drafted ? "tokens drafted so far" : "tokens proposed so far"),
          h(
            "ul",
            null,
            verdicts.map(([id, words]) => entry(id, words, sample(["get"], `${most} ${id}`))),
          ),
        ),
      h("p.s.q.lgn", null, "Click an entry to fade its tokens."),
      this.shades(),
    ]);
  }
  fade(id, entry) {
    const off = !this.faded.delete(id);
    if (off) this.faded.add(id);
    entry.setAttribute("aria-pressed", String(!off));
    this.root.classList.toggle("f-" + id, off);
  }

  // What colours the text: one of three.
  shades() {
    const choices = [
      ["origin", "who proposed it"],
      ["gain", "tokens per target forward"],
      ["probability", "probability"],
    ];
    const buttons = choices.map(([id, words], at) =>
      h(
        "button",
        {
          type: "button",
          "aria-pressed": String(!at),
          onclick: (event) => {
            for (const one of buttons) one.setAttribute("aria-pressed", String(one === event.currentTarget));
            for (const [other] of choices) this.root.classList.toggle("by-" + other, other === id);
          },
        },
        words,
      ),
    );
    const known = this.info.steps.some((step) => step.probabilities.length);
    const scale = [1, 0.75, 0.5, 0.25, 0].map((p) =>
      h("span.tk", { style: `--p:${100 * p}%` }, String(p)),
    );
    return h(
      "div.lgn",
      null,
      h("div.shades", { role: "group", "aria-label": "colour of the text" }, "Colour the text by", buttons),
      h(
        "p.s.q.scale",
        null,
        known
          ? ["p, what the target itself gave a token ", scale]
          : "This trace holds no probabilities; record it with probabilities=True (--probabilities).",
      ),
    );
  }

  // ---- events -----------------------------------------------------------------------------------------------------

  listen() {
    const { root } = this;
    root.addEventListener("keydown", (event) => this.key(event));
    const target = (event) => event.target.closest && event.target.closest("[data-key]");
    root.addEventListener("pointerover", (event) => {
      const el = target(event);
      if (el) this.point(this.parse(el.dataset.key), el);
      else if (this.hover) this.point(null);
    });
    root.addEventListener("pointerleave", () => this.point(null));
    root.addEventListener("click", (event) => {
      const el = target(event);
      if (el) this.click(this.parse(el.dataset.key), el);
      if (!this.part.help.hidden && !event.target.closest(".help")) this.part.help.hidden = true;
    });
  }
  parse(key) {
    // a token of the text that belongs to this iteration is a node of its tree
    const [kind, at, of] = key.split(":");
    if (kind === "t" && Number(at) === this.i) return { kind: "node", at: Number(of) };
    return { kind: { n: "node", p: "phrase", t: "token" }[kind], at: Number(at), of: Number(of) };
  }
  point(what, el) {
    const before = this.hover;
    if (!what && !before) return;
    if (what && before && what.kind === before.kind && what.at === before.at && what.of === before.of) return;
    this.hover = what;
    this.pointed = el || null;
    this.paint();
  }
  click(what, el) {
    if (what.kind === "token") {
      // a token of an earlier iteration: open it there
      this.go(what.at);
      what = { kind: "node", at: what.of };
      el = null;
    }
    this.anchor = el;
    this.select(what);
  }
  key(event) {
    const { key } = event;
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const on = event.composedPath()[0];
    const slider = on.getAttribute && on.getAttribute("role") === "slider";
    const native = on.closest && on.closest("button,summary,input,select");
    const last = this.info.steps.length - 1;
    const right = key === "ArrowRight";
    if (right || key === "ArrowLeft") {
      if (event.shiftKey || slider) this.go(this.i + (right ? 1 : -1));
      else this.move(right ? 1 : -1);
    } else if (slider && (key === "PageUp" || key === "PageDown"))
      this.go(this.i + (key === "PageUp" ? 4 : -4));
    else if (slider && (key === "ArrowUp" || key === "ArrowDown"))
      this.go(this.i + (key === "ArrowUp" ? 1 : -1));
    else if (key === "Home") this.go(0, this.stages(0) - 1);
    else if (key === "End") this.go(last, this.stages(last) - 1);
    else if (key === " " && !native) this.play();
    else if ((key === "ArrowDown" || key === "ArrowUp") && on === this.root)
      this.along(key === "ArrowDown" ? 1 : -1);
    else if (key === "Enter" && this.hover && !native) {
      this.anchor = null;
      this.select(this.hover);
    } else if (key === "Escape") this.release(on);
    else if (key === "l" || key === "L") this.part.legend.querySelector("button").focus();
    else if (key === "t" || key === "T") this.toggleTheme();
    else if (key === "?") this.part.help.hidden = !this.part.help.hidden;
    else return;
    event.preventDefault();
    event.stopPropagation();
  }
  release(on) {
    if (!this.part.help.hidden) this.part.help.hidden = true;
    else if (this.lock || this.hover) {
      this.hover = null;
      if (this.lock) this.select(null);
      else this.paint();
    } else if (on === this.root) this.root.blur();
    else this.root.focus();
  }
  along(by) {
    // the node before or after, in the order of comb and mask
    const order = this.order();
    const now = this.hover || this.lock;
    const at = now && now.kind === "node" ? order.indexOf(now.at) : -1;
    this.point({ kind: "node", at: order[clamp(at < 0 ? 0 : at + by, 0, order.length - 1)] }, null);
  }
  order() {
    return [-1, ...this.step.tree.rows.flatMap((row) => row.own)];
  }
  ancestors(node) {
    const seen = [];
    for (; node >= 0; node = this.step.tree.parents[node]) seen.push(node);
    seen.push(-1);
    return seen;
  }
  get own() {
    return this.step.tree.tokens.length;
  } // stands for the target's own token

  // ---- everything that changes with the iteration --------------------------------------------------------------

  resize(width) {
    this.width = width;
    this.narrow = width < 620;
    this.stacked = width <= 1100;
    this.pad = width <= 640 ? 16 : 24;
    this.drawStrip();
    this.draw();
    this.drawStage();
    this.paint();
  }
  draw() {
    this.marks = new Map();
    this.later = [];
    this.maskMap = null;
    this.drawHead();
    this.moveCursor();
    for (const name in SECTIONS)
      if (this.away.has(name)) this.late.add(name);
      else {
        this.late.delete(name);
        this[SECTIONS[name]]();
      }
    clearTimeout(this.rest);
    if (this.late.size) this.rest = setTimeout(() => this.catchUp(), REST);
    for (const name of this.open) this.fillTwin(name);
  }

  drawHead() {
    const { info, step } = this;
    this.part.count.replaceChildren(
      h("b", null, String(step.index + 1)),
      h("span.q", null, ` of ${info.total} iterations`),
    );
    this.part.meta.replaceChildren(
      ...info.facts.map((fact) => h("span", null, fact)),
      ...info.knobs[step.knobs].map(([name, value]) => h("span", null, name + " ", h("b", null, value))),
      h("span", null, info.origin || "recorded run"),
    );
    const fact = (figure, words, more) =>
      h("div.fact", null, h("b", null, figure, more && h("small", null, more)), h("span", null, words));
    const proposed = step.tree.rows.filter((row) => row.kind !== "w").length;
    this.part.facts.replaceChildren(
      ...[
        step.drafted
          ? fact(String(step.accepted), "kept (A)", ` of ${step.drafted}`)
          : proposed
            ? fact(String(step.beyond), `kept, from ${plural(proposed, "row")}`)
            : null,
        step.drafted ? fact(String(step.matches), "#Match") : null,
        fact(String(step.emitted.length), "tokens out"),
        step.forwards.length
          ? fact(`${step.forwards.length} + 1`, "draft + target forwards")
          : fact("1", "target forward"),
      ].filter(Boolean),
    );
  }

  // What belongs to a stage is only shown or hidden: nothing moves while one steps through an iteration.
  drawStage() {
    const { step, stageName: name } = this;
    const drafts = this.drafts(this.i);
    if (this.root.dataset.stage !== name.toLowerCase()) this.root.dataset.stage = name.toLowerCase();
    for (const one of this.root.querySelectorAll(".phase button")) {
      const on = one.dataset.name === name;
      if (on) one.setAttribute("aria-current", "step");
      else one.removeAttribute("aria-current");
      one.lastChild.textContent =
        on && name === "Draft" && drafts > 1 ? ` ${this.stage + 1} of ${drafts}` : "";
    }
    const upto = name === "Draft" ? this.stage : drafts;
    for (const el of this.later) el.classList.toggle("soon", Number(el.dataset.forward) > upto);
    this.film.forEach((el, at) => el.classList.toggle("now", name === "Draft" && at === this.stage));
    const start = h("b", null, `Iteration ${step.index + 1}: `);
    const [before, point, after] = step.said;
    const forward = step.forwards[this.stage];
    const says =
      name === "Learn"
        ? [
            start,
            before,
            h("b", null, point),
            after,
            step.note && h("span.note", null, ` Note: ${step.note}.`),
          ]
        : [
            start,
            name === "Draft"
              ? forward
                ? forward.said
                : "no forward of a draft model; " + step.said[0]
              : name === "Verify"
                ? step.verify
                : step.commit,
          ];
    fill(this.part.lead, null, (this.part.lead.replaceChildren(), says));
  }

  // ---- the strip: #Match against A, and the slider over iterations ----------------------------------------------------

  drawStrip() {
    const { steps } = this.info;
    const W = this.width - 2 * this.pad,
      H = 118,
      L = 30,
      R = 6,
      T = 14,
      B = 22,
      wide = (W - L - R) / steps.length;
    const top = Math.max(
      6,
      ...steps.map((step) =>
        Math.max(step.drafted, step.accepted + step.beyond, this.drafted ? 0 : step.emitted.length),
      ),
    );
    const tens = [1, 2, 5, 10, 20, 50, 100].find((one) => top / one <= 3.2) || 200;
    const y = (v) => H - B - ((H - T - B) * v) / (top * 1.06),
      x = (i) => L + wide * (i + 0.5);
    const bar = clamp(wide * 0.5, 1, 9),
      r = clamp(wide * 0.22, 0.9, 4);
    this.strip = { x, wide, L, H };
    const { each, beyond } = this.runKinds(),
      d = { ghost: "", gap: "" };
    for (const role of beyond) d[role] = "";
    const dots = [],
      open = [];
    const circle = (cx, cy, radius) =>
      `M${cx - radius} ${cy}a${radius} ${radius} 0 1 0 ${2 * radius} 0a${radius} ${radius} 0 1 0 ${-2 * radius} 0z`;
    steps.forEach((step, i) => {
      const left = x(i) - bar / 2;
      const ghost = this.drafted ? step.drafted : step.emitted.length;
      if (ghost) d.ghost += box(left, y(ghost), bar, y(0) - y(ghost));
      if (step.beyond) {
        const from = step.accepted === step.drafted ? step.drafted : 0;
        d[each[i]] += box(left, y(from + step.beyond), bar, y(from) - y(from + step.beyond));
      }
      if (step.matches > step.accepted) {
        d.gap += `M${x(i)} ${y(step.accepted)}V${y(step.matches)}`;
        open.push(circle(x(i), y(step.matches), r));
      }
      if (this.drafted) dots.push(circle(x(i), y(step.accepted), r + 0.4));
    });
    const svg = s("svg", {
      width: W,
      height: H,
      tabindex: "0",
      role: "slider",
      "aria-label": "Iteration",
      "aria-valuemin": 1,
      "aria-valuemax": steps.length,
    });
    this.slider = svg;
    this.cursor = rect(0, 2, 20, H - 4, { rx: 4, class: "sunken" });
    this.frame = rect(0, 2.75, 20, H - 5.5, { rx: 4, class: "cursor" });
    this.cursorText = svgText(0, H - 6, "", { "text-anchor": "middle", class: "strong" });
    svg.append(this.cursor);
    for (let v = 0; v <= top; v += tens)
      svg.append(
        s("path", { d: `M${L} ${y(v)}H${W - R}`, class: "rule" }),
        svgText(L - 8, y(v) + 4, String(v), { "text-anchor": "end", class: "axis" }),
      );
    fill(svg, null, [
      s("path", { d: d.ghost, class: "ghost" }),
      [...beyond].map((role) => s("path", { d: d[role], class: "beyond " + role })),
      s("path", { d: d.gap, class: "gapline" }),
      s("path", { d: open.join(""), class: "hollow" }),
      s("path", { d: dots.join(""), class: "inked" }),
    ]);
    const every = [1, 5, 10, 20, 50, 100, 200].find((n) => n * wide > 34) || 500;
    this.ticks = steps
      .map(
        (_, i) =>
          (i === 0 || (i + 1) % every === 0) &&
          svgText(x(i), H - 6, String(i + 1), { "text-anchor": "middle", class: "axis" }),
      )
      .map((tick) => tick && svg.appendChild(tick));
    svg.append(this.frame, this.cursorText);
    const scrub = (event) => {
      const at = Math.floor((event.clientX - svg.getBoundingClientRect().left - L) / wide);
      this.go(clamp(at, 0, steps.length - 1));
    };
    svg.addEventListener("pointerdown", (event) => {
      svg.setPointerCapture(event.pointerId);
      this.scrubbing = true;
      scrub(event);
    });
    svg.addEventListener("pointermove", (event) => {
      if (this.scrubbing) scrub(event);
    });
    for (const end of ["pointerup", "pointercancel"])
      svg.addEventListener(end, () => (this.scrubbing = false));
    this.part.strip.replaceChildren(svg);
  }
  moveCursor() {
    const { x, wide } = this.strip,
      { step } = this;
    const w = clamp(wide, 20, 64),
      left = x(this.i) - w / 2;
    this.cursor.setAttribute("x", left);
    this.cursor.setAttribute("width", w);
    this.frame.setAttribute("x", left + 0.75);
    this.frame.setAttribute("width", w - 1.5);
    this.cursorText.setAttribute("x", x(this.i));
    this.cursorText.textContent = String(this.i + 1);
    this.ticks.forEach(
      (tick, i) => tick && (tick.style.visibility = Math.abs(x(i) - x(this.i)) < 26 ? "hidden" : ""),
    );
    this.slider.setAttribute("aria-valuenow", this.i + 1);
    this.slider.setAttribute(
      "aria-valuetext",
      `Iteration ${this.i + 1}: ${step.drafted} drafted, ${step.accepted} kept, #Match ${step.matches}, ${step.emitted.length} tokens out`,
    );
  }

  // ---- the text ------------------------------------------------------------------------------------------------------

  // One inline element an iteration, made once: a step adds or removes at the end and moves the mark "now".
  drawText() {
    const { info, step, i: now } = this,
      { text } = this.part;
    let from = now,
      shown = step.emitted.length;
    while (from > 0 && shown < this.textTokens) {
      from -= 1;
      shown += info.steps[from].emitted.length;
    }
    const held =
      this.textFrom <= from ? shown + info.steps[from].written - info.steps[this.textFrom].written : Infinity;
    if (held < 2 * this.textTokens) from = this.textFrom; // trimmed in large pieces
    if (from !== this.textFrom) {
      this.textFrom = from;
      this.textTo = from;
      text.replaceChildren(
        from
          ? h(
              "button.more",
              {
                type: "button",
                onclick: () => {
                  this.textTokens *= 4;
                  this.drawText();
                  this.paint();
                },
              },
              `… ${plural(info.steps[from].written, "earlier token")}`,
            )
          : this.promptText(),
      );
      if (from) text.append(h("br"));
    }
    while (this.textTo > now + 1) {
      this.textTo -= 1;
      text.lastChild.remove();
    }
    while (this.textTo <= now) {
      text.append(this.iterationText(this.textTo));
      this.textTo += 1;
    }
    if (this.textNow) this.textNow.classList.remove("now");
    this.textNow = this.iterationText(now);
    this.textNow.classList.add("now");
    this.part["text-note"].textContent =
      `prompt of ${plural(info.prompt_length, "token")}, then ${step.written + step.emitted.length} written. A bracket is one iteration, that is one target forward.`;
    this.count();
  }
  promptText() {
    const { info } = this,
      out = [];
    if (info.prompt_length > info.prompt.length) out.push(h("span.q.s", null, "… "));
    for (const t of info.prompt) this.pushToken((node) => out.push(node), t, "plain");
    return h("span", null, out);
  }
  iterationText(q) {
    if (this.texts[q]) return this.texts[q];
    const step = this.info.steps[q],
      { tree, emitted, kinds, nodes } = step;
    const phrase = (k) => (nodes[k] < tree.phrases.length ? tree.phrases[nodes[k]] : -1);
    const runs = []; // neighbours that came at once, out of a phrase or as a copy, are one ribbon
    emitted.forEach((t, k) => {
      const kind = kinds[k],
        last = runs[runs.length - 1],
        forward = "ptd".includes(kind) ? this.forwardOf(nodes[k], step) : -1;
      const whole = kind === "p" || kind === "s" || FOUND.includes(kind);
      const joins = last && last.kind === kind && whole && last.forward === forward;
      if (joins) last.items.push(k);
      else runs.push({ kind, forward, items: [k] });
    });
    const out = [h("span.no", { "aria-hidden": "true" }, h("span", null, String(q + 1)))];
    for (const run of runs) {
      let ribbon = [];
      const flush = () => {
        if (ribbon.length > 1) out.push(h("span.rib", null, ribbon));
        else out.push(...ribbon);
        ribbon = [];
      };
      run.items.forEach((k, at) => {
        const cls = `${ROLE[run.kind]}${run.kind === "t" ? "" : " ok"}${at ? " cont" : ""}`;
        const add = (node) => {
          if (k in step.probabilities) node.style.setProperty("--p", `${100 * step.probabilities[k]}%`);
          ribbon.push(node);
        };
        this.pushToken(add, emitted[k], cls, `t:${q}:${nodes[k]}`, phrase(k), (rest) => {
          flush();
          out.push(...rest);
        });
      });
      flush();
    }
    const lost = this.trunk(tree)
      .filter((node) => tree.states[node] !== "k")
      .map((node) =>
        this.textChip(
          tree.tokens[node],
          `${ROLE[tree.kinds[node]]} ${STATE[tree.states[node]]}`,
          `t:${q}:${node}`,
          tree.phrases[node],
          undefined,
          24,
        ),
      );
    return (this.texts[q] = h(
      "span.it",
      { style: `--gain:${Math.round((100 * emitted.length) / this.mostOut())}%` },
      h("span.line", null, out),
      lost.length ? h("span.gone", null, h("span.lab", null, "thrown away"), lost) : null,
    ));
  }
  mostOut() {
    this.most = this.most || Math.max(...this.info.steps.map((step) => step.emitted.length));
    return this.most;
  }
  textChip(t, cls, key, phrase, words, most = 60) {
    const node = this.chip(t, cls, { copy: true, most, words });
    if (key) {
      node.dataset.key = key;
      this.markText(key, node);
    }
    if (phrase >= 0) this.markText(`p:${phrase}`, node);
    return node;
  }
  markText(key, node) {
    const { textMarks } = this;
    if (!textMarks.has(key)) textMarks.set(key, []);
    textMarks.get(key).push(node);
  }
  // A line break in a token breaks the line, and the indent behind it shows as dots.
  pushToken(add, t, cls, key, phrase = -1, broke = (rest) => rest.forEach(add)) {
    const words = this.words(t),
      chip = (part) => this.textChip(t, part.length > 30 ? cls + " long" : cls, key, phrase, part);
    const parts = /^([^\n]*)(\n+)( *)([^]*)$/.exec(words);
    if (!parts) return add(chip(words));
    const [, before, breaks, indent, after] = parts;
    const rest = Array.from({ length: key ? Math.min(breaks.length, 6) : 1 }, () => h("br"));
    if (indent) {
      const dots = h("i", { "aria-hidden": "true" }, "·".repeat(Math.min(indent.length, 40)));
      rest.push(h("span.gap", null, dots, h("span.cp", null, indent)));
    }
    add(chip(before + breaks));
    broke(rest);
    if (after) add(chip(after));
  }
  trunk(tree) {
    const { rows } = tree;
    return rows.length && (rows[0].label === "Draft" || rows[0].label === "Copy") ? rows[0].nodes : [];
  }
  count() {
    if (!this.sums) {
      // running totals, so that a step costs the same anywhere in the run
      let sum = Object.fromEntries([...Object.values(ROLE), "ok", "bad", "late", "off"].map((id) => [id, 0]));
      this.sums = this.info.steps.map(({ kinds, tree }) => {
        sum = { ...sum };
        for (const kind of kinds) sum[ROLE[kind]] += 1;
        const nodes = this.drafted ? this.trunk(tree) : tree.tokens.map((_, node) => node);
        for (const node of nodes) if (STATE[tree.states[node]] in sum) sum[STATE[tree.states[node]]] += 1;
        return sum;
      });
    }
    for (const [id, node] of Object.entries(this.counts)) node.textContent = String(this.sums[this.i][id]);
  }

  // ---- the draft film ---------------------------------------------------------------------------------------------------

  drawFilm() {
    const { step } = this,
      { forwards } = step,
      { film } = this.part;
    const note = this.part["draft-note"];
    if (!forwards.length) {
      const rows = step.tree.rows.filter((row) => row.kind !== "w");
      const from = {
        c: "copied from earlier text",
        p: "a pool phrase that starts with the last token",
        s: "a pool phrase that starts with the last token",
        r: "retrieved: it followed the same tokens in a stored text",
        j: "retrieved: it followed the same tokens in a draft thrown away before",
        g: "retrieved for the target, to stand behind the draft",
        d: step.beside ? "written in the iteration before" : "",
      };
      note.replaceChildren(
        step.beside
          ? "the draft model did not run: nothing behind the draft it wrote before could be used"
          : rows.length
            ? "no draft model in this iteration; what stands to be tried costs no forward"
            : "nothing is proposed in this iteration",
      );
      this.film = rows.map((row) =>
        h(
          "div.fw",
          null,
          h("div.t", null, h("b", null, row.label), h("span", null, plural(row.nodes.length, "token"))),
          h(
            "div.o.first",
            null,
            this.ribbon(
              row.nodes.slice(0, 12).map((n) => step.tree.tokens[n]),
              ROLE[row.kind],
              (k) => `n:${row.nodes[k]}`,
            ),
          ),
          h("p.xs.q", null, from[row.kind] || ""),
        ),
      );
      if (step.window.length)
        this.film.push(
          h(
            "div.fw",
            null,
            h("div.scroll", null, this.windowTable(step.window)),
            h("p.xs.q", null, "the target's own lookahead window, read in the same forward"),
          ),
        );
      film.className = "film short";
      film.replaceChildren(...this.film);
      film.hidden = !this.film.length;
      return;
    }
    film.hidden = false;
    film.className = "film";
    const { beside } = step;
    note.replaceChildren(
      `${plural(forwards.length, "forward")} of the draft model for ${plural(beside ? beside.drafted : step.drafted, "token")}` +
        (beside
          ? `, ${beside.told}: ${beside.fate}.`
          : ". A phrase that fits is taken whole, so one forward can write several tokens."),
    );
    const trunk = beside ? [] : step.tree.rows.length ? step.tree.rows[0].nodes : [];
    this.film = forwards.map((forward, at) => this.forward(forward, at, trunk));
    film.replaceChildren(...this.film);
  }
  forward(forward, at, trunk) {
    const guesses = forward.guesses.map((guess) => this.guess(guess));
    if (!guesses.length)
      guesses.push(
        h(
          "li.none",
          null,
          `${this.info.phrases.length ? "No phrase" : "Nothing"} to try after this token, so one forward gives one token.`,
        ),
      );
    if (forward.guessed > forward.guesses.length)
      guesses.push(h("li", null, `and ${forward.guessed - forward.guesses.length} more`));
    const wrote = [];
    const key = (k) => (trunk.length ? `n:${trunk[k]}` : undefined);
    const fate = (k) => this.fateBeside(k);
    for (let k = 0; k < forward.wrote.length;) {
      const kind = forward.kinds[k];
      let end = k + 1;
      while (kind !== "d" && end < forward.wrote.length && forward.kinds[end] === kind) end += 1;
      const start = k;
      wrote.push(
        this.ribbon(
          forward.wrote.slice(start, end),
          (n) => ROLE[kind] + fate(forward.first + start + n),
          (n) => key(forward.first + start + n),
        ),
      );
      k = end;
    }
    const found = forward.founds
      ? `${plural(forward.founds, "new phrase")} read off the window's columns`
      : forward.window.length
        ? "nothing new in the window's columns"
        : "";
    const node = h(
      "div.fw",
      { "data-forward": String(at) },
      h(
        "div.t",
        null,
        h("span", null, h("b", null, `Forward ${at + 1}`), " after ", this.chip(forward.key, "quiet")),
        h("span", null, `${fixed(forward.ms)} ms`),
      ),
      h("ul.g", null, guesses),
      h("div.o", null, h("span", null, "wrote"), h("span", null, wrote)),
      h("div.scroll", null, this.windowTable(forward.window)),
      h("p.xs.q", null, found),
    );
    this.later.push(node);
    return node;
  }
  // Of a token written beside the target's forward: the target says it too, the next iteration verifies it, it goes.
  fateBeside(k) {
    const { beside } = this.step;
    if (!beside) return "";
    return k < beside.right ? " ok" : beside.kept ? "" : " off";
  }
  guess({ tokens, kind, phrase, fits, taken }) {
    const key = phrase >= 0 ? `p:${phrase}` : "";
    const rest = tokens.slice(fits).map((t, k) => this.chip(t, `rest${k ? "" : " bad"}`));
    const front = tokens.slice(0, fits);
    const words = taken
      ? `✓ ${fits} fit${fits === 1 ? "s" : ""}, taken`
      : fits
        ? `${fits} fit${fits === 1 ? "s" : ""}`
        : "none fits";
    const node = h(
      `li${taken ? ".win" : ""}`,
      key && { "data-key": key },
      taken
        ? h("span.rib.whole", null, this.ribbon(front, ROLE[kind]), rest)
        : h(
            "span.rib",
            null,
            front.map((t) => this.chip(t, "rest")),
            rest,
          ),
      h("span", null, words),
    );
    if (key) this.mark(key, node);
    return node;
  }
  windowTable(levels) {
    if (!levels.length) return h("span");
    const most = Math.max(...levels.map((level) => level.length));
    return h(
      "table.wtab",
      { "aria-label": "Lookahead window of this forward" },
      h(
        "tbody",
        null,
        levels.map((level, at) =>
          h(
            `tr${at === levels.length - 1 ? ".newest" : ""}`,
            null,
            h("th", { scope: "row" }, at === 0 ? "window" : ""),
            Array.from({ length: most - level.length }, () => h("td")),
            level.map((t) => h("td", null, this.look(t, 9))),
          ),
        ),
      ),
    );
  }

  // ---- comb and mask ------------------------------------------------------------------------------------------------------

  drawVerify() {
    const { step, narrow } = this,
      { tree } = step;
    const beside = tree.rows.filter((row) => row.kind !== "w").length - (step.drafted ? 1 : 0),
      windows = tree.rows.filter((row) => row.kind === "w").length;
    const parts = [
      step.drafted
        ? tree.rows[0].label === "Copy"
          ? "the copy"
          : step.beside
            ? "the draft of the iteration before"
            : "the draft"
        : "",
      beside
        ? plural(beside, "row") +
          (step.drafted ? " beside or behind it" : step.beside ? " retrieved for the target" : " of guesses")
        : "",
      windows ? plural(windows, "window row") : "",
    ].filter(Boolean);
    this.part["verify-note"].replaceChildren(
      `one forward of the target over ${plural(step.rows, "row")}${parts.length ? ": " + parts.join(", ") : ""}. Equal positions share ${narrow ? "an indent" : "a column"}.`,
    );
    const legend =
      "✓ the target says the same, ✗ the first difference, = the same again but too late to count, ≠ different.";
    const thick =
      narrow || !tree.tokens.length
        ? ""
        : "Read the thick line from left to right: it is what was kept, and it ends in one token of the target's own. ";
    const draft = tree.rows[0];
    const broke =
      this.trunk(tree).length && draft.outcome === "lost"
        ? h(
            "span.broke",
            null,
            h("b", null, `The ${draft.label.toLowerCase()} `),
            this.pieces(draft.why),
            ". What stands behind a wrong token goes with it.",
          )
        : null;
    fill(this.part.combsay, null, (this.part.combsay.replaceChildren(), [broke, thick + legend]));
    if (narrow) {
      this.part.vwrap.className = "vwrap narrow";
      this.part.mask.replaceChildren();
      this.drawTurned();
      return;
    }
    const layout = this.layout();
    const side = this.maskSize();
    const avail = this.width - 2 * this.pad;
    const stack = this.stacked || layout.need > avail - side.W - 36;
    this.part.vwrap.className = stack ? "vwrap stack" : "vwrap";
    this.drawComb(layout, stack ? avail : avail - side.W - 36);
    this.drawMask(side);
  }
  layout() {
    // columns are positions, their widths those of the widest token
    const { tree } = this.step;
    const col = [];
    tree.parents.forEach((parent) => col.push(parent < 0 ? 1 : col[parent] + 1));
    const last = Math.max(tree.says.length, 0, ...col);
    const size = (t) => columns(this.look(t, 16)) * this.ch;
    const w = Array(last + 1).fill(24);
    w[0] = Math.max(24, size(this.step.root) + 12);
    tree.tokens.forEach((t, node) => (w[col[node]] = Math.max(w[col[node]], size(t) + 12)));
    tree.says.forEach((t, k) => (w[k + 1] = Math.max(w[k + 1], size(t) + 16)));
    const label = 92;
    return { col, w, last, label, size, need: label + w.reduce((a, b) => a + b + 10, 8) };
  }
  drawComb({ col, w, last, label, size }, avail) {
    const { step } = this,
      { tree } = step,
      { comb } = this.part;
    const gap = clamp((avail - label - 8 - w.reduce((a, b) => a + b, 0)) / (last + 1), 9, 22);
    const x = [];
    let edge = label;
    w.forEach((wide, c) => {
      x[c] = edge;
      edge += wide + gap;
    });
    const { rows } = tree,
      trunk = this.trunk(tree).length ? 1 : 0;
    const pitch = rows.length > 8 ? 40 : rows.length > 3 ? 46 : 50;
    const rootRow = trunk ? 0 : -1; // −1: the root has a row of its own where there is no draft
    const rowOf = [];
    rows.forEach((row, r) => row.own.forEach((node) => (rowOf[node] = r)));
    const down = []; // where wires go from row to row: reasons keep out of their way
    tree.parents.forEach((parent, node) => {
      const from = parent < 0 ? rootRow : rowOf[parent];
      if (tree.kinds[node] !== "w" && rowOf[node] !== from)
        down.push([x[col[node]] - gap / 2, from, rowOf[node]]);
    });
    const reasons = rows.map((row, r) =>
      (trunk && r === 0) || !row.why.length ? null : this.reason(row, r, { x, w, col, label, avail, down }),
    );
    const tops = [];
    let high = 66 + (trunk ? 0 : pitch);
    rows.forEach((row, r) => {
      tops[r] = high;
      high += pitch + (trunk && r === 0 ? 16 : 0) + (reasons[r] && reasons[r].below ? 22 : 0);
    });
    const top = (r) => (r < 0 ? 66 : tops[r]);
    const mid = (c) => x[c] + w[c] / 2,
      half = (t) => Math.max(15, size(t) + 8) / 2,
      yc = (r) => top(r) + 11;
    const at = (cls, left, y, wide, kids, key) => {
      const node = h(
        "div.abs" + cls,
        { style: `left:${left}px;top:${y}px;${wide ? `width:${wide}px` : ""}` },
        kids,
      );
      if (key) {
        node.dataset.key = key;
      }
      return node;
    };
    const put = (chip, c, y, cls) => {
      chip.className += ` node ${cls}`;
      chip.style.cssText = `left:${mid(c)}px;top:${y}px`;
      return chip;
    };
    const out = [at(".pos", 0, 0, 0, "position")];
    for (let c = 0; c <= last; c += 1) out.push(at(".pos", x[c], 0, w[c], String(step.position - 1 + c)));
    out.push(at(".rl", 0, 20, 0, "Target says"));
    tree.says.forEach((t, k) => {
      const own = k === step.emitted.length - 1 && step.kinds[k] === "t",
        on = k < tree.said;
      const chip = this.chip(t, own ? "target" : on ? "said" : "said off", {
        most: 16,
        key: own ? `n:${this.own}` : undefined,
      });
      out.push(put(chip, k + 1, 20, "ver"));
    });
    const rootChip = this.chip(step.root, "root", { key: "n:-1", most: 16 });
    out.push(put(rootChip, 0, top(rootRow), ""));
    let right = edge;
    const d = { kept: "", lost: "", off: "" };
    rows.forEach((row, r) => {
      const draft = trunk && r === 0;
      out.push(at(draft ? ".rl" : ".rl.ver", 0, top(r), 0, row.label));
      row.own.forEach((node) => {
        const t = tree.tokens[node],
          state = tree.states[node];
        const chip = this.chip(t, `${ROLE[tree.kinds[node]]} ${STATE[state]}`, {
          key: `n:${node}`,
          most: 16,
        });
        this.phraseMark(node, row, chip);
        out.push(put(chip, col[node], top(r), draft ? "" : "ver"));
        if (draft) {
          chip.dataset.forward = String(this.forwardOf(node));
          this.later.push(chip);
        }
        if (MARK[state] && (draft || state !== "n"))
          out.push(
            at(
              `.mk.ver${state === "x" ? ".x" : "ln".includes(state) ? ".soft" : ""}`,
              x[col[node]],
              top(r) - (draft ? 17 : 15),
              w[col[node]],
              MARK[state],
            ),
          );
      });
      if (reasons[r]) {
        const { left, wide, below, words } = reasons[r];
        out.push(at(`.why.ver${below ? ".below" : ""}`, left, top(r) + (below ? 24 : 0), 0, words()));
        right = Math.max(right, left + wide);
      }
    });
    tree.parents.forEach((parent, node) => {
      // wires run between chips, never through them
      if (tree.kinds[node] === "w") return;
      const from = parent < 0 ? rootRow : rowOf[parent],
        c0 = parent < 0 ? 0 : col[parent],
        c1 = col[node],
        to = rowOf[node];
      const a = mid(c0) + half(parent < 0 ? step.root : tree.tokens[parent]),
        b = mid(c1) - half(tree.tokens[node]),
        state = tree.states[node];
      const path =
        from === to
          ? `M${a} ${yc(to)}H${b}`
          : `M${a} ${yc(from)}H${x[c1] - gap / 2}V${yc(to) - 5}q0 5 5 5H${b}`;
      d[state === "k" || state === "e" ? "kept" : state === "x" ? "lost" : "off"] += path;
    });
    let own = "";
    const end = step.emitted.length - 1;
    if (end >= 0 && step.kinds[end] === "t") {
      // from the last kept token up to the target's own
      const before = end ? step.nodes[end - 1] : -1,
        xm = x[end + 1] - gap / 2;
      const t = before < 0 ? step.root : tree.tokens[before];
      own = `M${mid(end) + half(t)} ${yc(before < 0 ? rootRow : rowOf[before])}H${xm - 6}q6 0 6 -6V37q0 -6 6 -6H${mid(end + 1) - half(tree.says[end])}`;
    }
    const H = (rows.length ? high - pitch : 66) + 30;
    const wires = s(
      "svg",
      { class: "wires ver", width: right, height: H, "aria-hidden": "true" },
      s("path", { d: d.off, class: "wire off" }),
      s("path", { d: d.lost, class: "wire lost" }),
      s("path", { d: own, class: "wire own" }),
      s("path", { d: d.kept, class: "wire kept" }),
    );
    if (!rows.some((row) => row.kind !== "w"))
      out.push(
        at(
          ".why.q",
          label + w[0] + 24,
          top(rootRow),
          0,
          "nothing stands behind it: the target's next token is all this forward gives",
        ),
      );
    else if (trunk && rows.length === 1) {
      const none = at(".why.q.ver", 0, H, 0, [
        "No row behind it: the pool has no phrase that starts after ",
        this.chip(tree.tokens[rows[0].nodes[rows[0].nodes.length - 1]], "quiet"),
      ]);
      if (this.info.phrases.length) out.push(none);
    }
    comb.className = "comb";
    comb.style.cssText = `width:${Math.ceil(right)}px;height:${H + (trunk && rows.length === 1 && this.info.phrases.length ? 26 : 0)}px`;
    comb.replaceChildren(wires, ...out);
    comb.setAttribute("role", "img");
    comb.setAttribute(
      "aria-label",
      `Tree: ${tree.rows.map((row) => `${row.label}, ${row.nodes.length} tokens, ${row.outcome}`).join("; ") || "no row"}`,
    );
  }
  phraseMark(node, row, chip) {
    const phrase = this.step.tree.phrases[node];
    if (phrase >= 0) this.mark(`p:${phrase}`, chip);
    if (row.phrase >= 0 && row.phrase !== phrase) this.mark(`p:${row.phrase}`, chip);
  }
  forwardOf(node, step = this.step) {
    // the draft forward that wrote a node of the draft, −1 for others and for drafts of the iteration before
    if (step.beside) return -1;
    const at = this.trunk(step.tree).indexOf(node);
    let found = -1;
    step.forwards.forEach((forward, f) => {
      if (at >= 0 && forward.first <= at) found = f;
    });
    return found;
  }
  // Why a row was kept or lost: in the empty space left of it, right of it, or on a line of its own.
  reason(row, r, { x, w, col, label, avail, down }) {
    const wide = row.why.reduce(
      (sum, part) =>
        sum + (typeof part === "string" ? this.wide(part) : columns(this.look(part)) * this.ch + 16),
      8,
    );
    const last = row.own[row.own.length - 1],
      left = label + 2;
    const crossed = down.some(([at, from, to]) => from < r && r < to && at > left - 4 && at < left + wide);
    const fits = !row.own.length || left + wide < x[col[row.own[0]]] - 14;
    const after = row.own.length ? x[col[last]] + w[col[last]] + 14 : 0;
    const below = !(fits && !crossed) && (!after || after + wide > avail);
    const words = () => {
      const [head, ...tail] = row.why,
        parts = /^(won|lost|kept whole)(.*)$/s.exec(head);
      return [
        parts ? [h("b", null, parts[1]), parts[2]] : head,
        this.pieces(tail, row.outcome === "won" ? "target" : "quiet"),
      ];
    };
    return { left: (fits && !crossed) || below ? left : after, wide, below, words };
  }

  maskSize() {
    const order = this.order(),
      n = order.length,
      c = n > 100 ? 6 : n > 44 ? 11 : n > 28 ? 13 : n > 16 ? 16 : n > 13 ? 18 : 22;
    const longest = Math.max(
      ...order.map((node) => columns(this.look(node < 0 ? this.step.root : this.step.tree.tokens[node], 9))),
    );
    const L = clamp(longest * this.ch * 0.85 + 12, 30, 76),
      C = 30,
      T = Math.max(L, 66);
    const W = Math.max(L + C + 8 + n * c + 62, L + 196); // a small tree still needs room for the words below it
    return { order, n, c, L, C, T, W, H: T + n * c + 24, drawn: n <= MASK_ROWS };
  }
  drawMask(size) {
    const { order, n, c, L, C, T, W, H } = size,
      { tree, root, position } = this.step;
    const title = h("h3", null, "Attention mask ", h("span.q", null, "same rows, top to bottom"));
    this.maskMap = null;
    if (!size.drawn)
      return void this.part.mask.replaceChildren(
        title,
        h("p.s.q", null, `${n} rows are too many to draw; the table of the tree lists what each looks at.`),
      );
    const x = (j) => L + C + 8 + j * c,
      y = (i) => T + i * c,
      at = new Map(order.map((node, k) => [node, k]));
    const token = (node) => this.look(node < 0 ? root : tree.tokens[node], 9),
      role = (node) => (node < 0 ? "root" : ROLE[tree.kinds[node]]);
    const svg = s("svg", {
      class: "mask ver",
      width: W,
      height: H,
      role: "img",
      "aria-label": `Attention mask: ${n} rows; every row looks at the cached prefix of ${position - 1} tokens, at itself and at the tokens before it on its own path`,
    });
    const cells = {},
      seen = order.map((node) => this.ancestors(node).map((other) => at.get(other)));
    let hidden = "",
      cache = "",
      self = "";
    seen.forEach((looks, i) => {
      const on = new Set(looks);
      cache += box(L + 0.5, y(i) + 1, C - 1, c - 2);
      hidden += `M${x(0) + c / 2 - 1} ${y(i) + c / 2}H${x(n)}`; // a dot a cell; cells cover theirs
      for (const j of on)
        cells[role(order[j])] = (cells[role(order[j])] || "") + box(x(j) + 1, y(i) + 1, c - 2, c - 2);
      const r = c * 0.17,
        cx = x(i) + c / 2,
        cy = y(i) + c / 2;
      self += `M${cx - r} ${cy}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0z`;
    });
    const band = rect(0, 0, x(n), c, { class: "band", visibility: "hidden" }),
      hot = s("path", { class: "hot" });
    svg.append(
      band,
      s("path", { d: cache, class: "cell ghost" }),
      s("path", { d: c > 8 ? hidden : "", class: "dots", "stroke-dasharray": `2 ${c - 2}` }),
      ...Object.entries(cells).map(([name, d]) => s("path", { d, class: `cell ${name}` })),
      s("path", { d: self, class: "inked" }),
      hot,
    );
    const rowText = [],
      colText = [];
    if (c > 8)
      order.forEach((node, i) => {
        svg.append(
          (rowText[i] = svgText(L - 6, y(i) + c / 2 + 4, token(node), {
            "text-anchor": "end",
            class: "mono",
          })),
        );
        if (c > 11)
          svg.append(
            (colText[i] = svgText(0, 0, token(node), {
              transform: `translate(${x(i) + c / 2 + 4} ${T - 6}) rotate(-90)`,
              class: "mono",
            })),
          ); // too many for words: rows keep theirs
      });
    svg.append(
      svgText(0, 0, `cache ${position - 1}`, {
        transform: `translate(${L + C / 2 + 4} ${T - 6}) rotate(-90)`,
        class: "axis",
      }),
    );
    let rule = `M${L + C + 4} ${T - 4}V${y(n)}`,
      begin = 1;
    tree.rows.forEach((row, k) => {
      if (!row.own.length) return;
      const start = k === 0 && begin === 1 ? 0 : begin,
        end = begin + row.own.length;
      if (begin > 1) rule += `M${L} ${y(begin)}H${x(n)}M${x(begin)} ${T}V${y(n)}`;
      if ((end - start) * c >= 11)
        svg.append(svgText(x(n) + 8, (y(start) + y(end)) / 2 + 4, row.label.toLowerCase(), {}));
      begin = end;
    });
    svg.append(
      s("path", { d: rule, class: "block" }),
      s(
        "g",
        { transform: `translate(${L} ${H - 14})` },
        rect(0, 0, 11, 11, { rx: 2, class: "ghost" }),
        svgText(16, 10, "may look at"),
        s("circle", { cx: 92, cy: 6, r: 3, class: "inked" }),
        svgText(99, 10, "itself"),
        rect(144, 5, 2, 2, { class: "hid" }),
        svgText(152, 10, "hidden"),
      ),
    );
    const row = (event) => Math.floor((event.clientY - svg.getBoundingClientRect().top - T) / c);
    svg.addEventListener("pointermove", (event) => {
      const i = row(event);
      this.point(i >= 0 && i < n ? { kind: "node", at: order[i] } : null, null);
    });
    svg.addEventListener("pointerleave", () => this.point(null));
    svg.addEventListener("click", (event) => {
      const i = row(event);
      if (i >= 0 && i < n) {
        this.anchor = null;
        this.select({ kind: "node", at: order[i] });
      }
    });
    this.maskMap = { at, seen, x, y, c, L, C, band, hot, rowText, colText };
    this.part.mask.replaceChildren(title, svg);
  }

  // On a phone: a quarter turn. One node a row: position, chip, mark, the target's word where it differs, mask row.
  drawTurned() {
    const { step } = this,
      { tree } = step,
      order = this.order(),
      n = order.length,
      { comb } = this.part;
    const room = clamp(this.width - 2 * this.pad - 240, 80, 180),
      c = clamp(room / n, 1, 10),
      chips = this.width - 2 * this.pad - 126 - Math.ceil(n * c), // what is left for them
      at = new Map(order.map((node, k) => [node, k]));
    const depth = [];
    tree.parents.forEach((parent) => depth.push(parent < 0 ? 1 : depth[parent] + 1));
    const out = [
      h(
        "div.nsep.first",
        null,
        h("span", null, "pos."),
        h("b", null, tree.rows.length ? tree.rows[0].label : "Last token"),
        h("span", null, "target says"),
        h("span", { style: `width:${Math.ceil(n * c)}px` }, "mask"),
      ),
    ];
    const indent = (d) => Math.min(d, 12) * 5;
    const line = (node) => {
      const state = node < 0 ? "" : tree.states[node],
        d = node < 0 ? 0 : depth[node],
        t = node < 0 ? step.root : tree.tokens[node];
      const chip = this.chip(t, node < 0 ? "root" : `${ROLE[tree.kinds[node]]} ${STATE[state]}`, {
        key: `n:${node}`,
        most: clamp(Math.floor((chips - indent(d) - 12) / (this.ch * 0.92)), 4, 16),
      });
      if (node >= 0)
        this.phraseMark(
          node,
          tree.rows.find((row) => row.own.includes(node)),
          chip,
        );
      const pick = node < 0 ? -1 : tree.picks[tree.parents[node] + 1],
        first = tree.rows.length ? tree.rows[0].own : [];
      const own =
        state === "x" &&
        step.nodes[step.nodes.length - 1] === this.own &&
        depth[node] === step.emitted.length;
      const says =
        "xn".includes(state || "-") && pick >= 0 && (state === "x" || first.includes(node))
          ? this.chip(pick, own ? "target" : "quiet", { most: 8 })
          : null;
      const row = h(
        "div.nrow",
        { "data-key": `n:${node}` },
        h("span.np", null, String(step.position - 1 + d)),
        h("span", { style: `padding-left:${indent(d)}px` }, chip),
        h(
          `span.mkk.ver${state === "x" ? ".x" : "ln".includes(state || "-") ? ".soft" : ""}`,
          null,
          MARK[state] || "",
        ),
        h("span.sd.ver", null, says),
      );
      this.mark(`r:${node}`, row);
      if (first.includes(node) && step.forwards.length) {
        row.dataset.forward = String(this.forwardOf(node));
        this.later.push(row);
      }
      return row;
    };
    // Lines of one proposal, with their part of the mask in one piece: a picture a line takes long to make.
    const block = (nodes) => {
      const bits = {};
      let hid = "";
      nodes.forEach((node, k) => {
        const top = 24 * k,
          looks = new Set(this.ancestors(node).map((other) => at.get(other)));
        for (let j = 0; j < n; j += 1) {
          if (looks.has(j)) {
            const name = order[j] === node ? "inked" : j === 0 ? "root" : ROLE[tree.kinds[order[j]]];
            bits[name] = (bits[name] || "") + box(j * c, top + 7, Math.max(0.8, c - 1), 10);
          } else if (c > 3) hid += box(j * c + c / 2 - 0.75, top + 11.25, 1.5, 1.5);
        }
      });
      return h(
        "div.nblock",
        { style: `padding-right:${Math.ceil(n * c) + 6}px` },
        nodes.map(line),
        s(
          "svg",
          { width: Math.ceil(n * c), height: 24 * nodes.length, class: "mask ver", "aria-hidden": "true" },
          Object.entries(bits).map(([name, d]) => s("path", { d, class: `cell ${name}` })),
          s("path", { d: hid, class: "hid" }),
        ),
      );
    };
    out.push(block([-1]));
    tree.rows.forEach((row, r) => {
      if (r || (row.label !== "Draft" && row.label !== "Copy"))
        out.push(
          h(
            "div.nsep.ver",
            null,
            h("b", null, row.label),
            " ",
            this.pieces(row.why, row.outcome === "won" ? "target" : "quiet"),
          ),
        );
      if (row.own.length) out.push(block(row.own));
    });
    const end = step.emitted.length - 1;
    if (end >= 0 && step.kinds[end] === "t")
      out.push(
        h(
          "div.nsep.ver",
          null,
          h("b", null, "Target's own "),
          this.chip(step.emitted[end], "target", { key: `n:${this.own}` }),
          ` at ${step.position + end}`,
        ),
      );
    comb.className = "comb turned";
    comb.style.cssText = "";
    comb.replaceChildren(...out);
  }

  // ---- learn ----------------------------------------------------------------------------------------------------------------

  drawLearn() {
    const { pool } = this.step,
      { info } = this;
    const kids = [];
    if (!pool.groups.length && !pool.lookups && !pool.draft_lookups && !pool.after)
      kids.push(h("p.s.q", null, "This method keeps no phrases."));
    for (const group of pool.groups) {
      const all = this.showAll.has(group.source),
        shown = group.phrases.slice(0, all ? undefined : LISTED),
        left = group.total - shown.length;
      kids.push(
        h(
          "div.grp",
          null,
          group.title,
          h(
            "span",
            null,
            ` ${plural(group.total, "new phrase")}, ${group.used || "none"} used later. ${group.note}`,
          ),
        ),
        h(
          "ul.hv",
          null,
          shown.map((phrase) => this.phraseRow(phrase)),
        ),
      );
      if (left > 0) {
        const more = group.phrases.length - shown.length;
        kids.push(
          more
            ? h(
                "button.more",
                {
                  type: "button",
                  onclick: () => {
                    this.showAll.add(group.source);
                    this.drawLearn();
                    this.paint();
                  },
                },
                `Show ${more} more${left > more ? ` of ${left}` : ""}`,
              )
            : h("p.xs.q", null, `and ${left} more`),
        );
      }
    }
    if (!pool.groups.length && pool.after) kids.push(h("p.s.q", null, "Nothing new in this iteration."));
    if (pool.evictions)
      kids.push(
        h(
          "div.grp",
          null,
          `${plural(pool.evictions, "phrase")} had to go`,
          h(
            "span",
            null,
            pool.evictions > pool.evicted.length ? " not all of them are named in this trace" : "",
          ),
        ),
        h(
          "ul.hv",
          null,
          pool.evicted.slice(0, LISTED).map((phrase) => this.phraseRow(phrase)),
        ),
      );
    const asked = [
      pool.lookups ? `the target's side asked for ${plural(pool.lookups, "key")}, ${pool.hits} hit` : "",
      pool.draft_lookups ? `the draft asked for ${pool.draft_lookups}, ${pool.draft_hits} hit` : "",
    ].filter(Boolean);
    if (asked.length) kids.push(h("p.s.q.asked", null, `Lookups: ${asked.join("; ")}.`));
    this.part["learn-note"].replaceChildren(
      info.phrases.length || pool.after ? `pool ${pool.before} → ${pool.after} phrases` : "",
    );
    this.part.learn.replaceChildren(...kids);
  }
  phraseRow(at) {
    const { tokens, fate, born } = this.phrase(at);
    const row = h(
      "li",
      { "data-key": `p:${at}` },
      this.chip(tokens[0], "key"),
      h("span.arrow", { "aria-hidden": "true" }, "→"),
      this.ribbon(tokens.slice(1), "phrase"),
      h(
        "span.fate",
        null,
        fate.startsWith("used") ? h("b", null, fate) : fate,
        born >= 0 && born !== this.i && !fate ? `born in ${born + 1}` : "",
      ),
    );
    this.mark(`p:${at}`, row);
    return row;
  }

  // ---- clock ------------------------------------------------------------------------------------------------------------------

  drawClock() {
    const { step, info } = this,
      { plain } = info,
      from = step.written,
      to = from + step.emitted.length;
    const W = (this.stacked ? this.width : this.width / 2) - 2 * this.pad - 2,
      L = 66,
      R = 12;
    const beside = plain ? plain.ms.slice(from, to) : [];
    const total = step.ms,
      alone = beside.reduce((a, b) => a + b, 0),
      whole = beside.length === step.emitted.length && beside.length;
    const most = Math.max(total, alone, 0.01) * 1.02,
      x = (v) => L + ((W - L - R) * v) / most;
    const tick =
      [0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000].find(
        (one) => most / one <= (W < 420 ? 4 : 7),
      ) || 20000;
    const drafts = info.steps.some((one) => one.forwards.length);
    const lane = drafts ? [30, 66, 120] : [0, 30, 84],
      H = beside.length ? lane[2] + 58 : lane[1] + 46;
    const { beside: lanes } = step;
    const svg = s("svg", {
      width: W,
      height: H,
      role: "img",
      "aria-label": `This iteration took ${fixed(total)} ms${lanes && lanes.overlap ? `, ${fixed(lanes.overlap)} ms of it with both models at work` : ""}${whole ? `; plain decoding takes ${fixed(alone)} ms for the same ${plural(step.emitted.length, "token")}` : ""}`,
    });
    for (let v = 0; v <= most; v += tick)
      svg.append(
        s("path", { d: `M${x(v)} 18V${H - 26}`, class: "rule" }),
        svgText(x(v), 12, v === 0 ? "0 ms" : String(Math.round(v * 10) / 10), {
          "text-anchor": "middle",
          class: "axis",
        }),
      );
    const bar = (start, ms, y, role, words) => {
      const wide = Math.max(2, x(start + ms) - x(start) - 1.5),
        target = role === "target";
      return s(
        "g",
        null,
        rect(x(start), y, wide, 24, { rx: 2, class: `tint-${role}` }),
        rect(x(start), target ? y : y + 21, target ? Math.min(3, wide) : wide, target ? 24 : 3, {
          class: `edge-${role}`,
        }),
        wide > 16 &&
          svgText(x(start) + (target ? 8 : wide / 2), y + 15, words(wide), {
            "text-anchor": target ? "start" : "middle",
            class: "strongish",
          }),
      );
    };
    if (lanes && lanes.overlap) {
      // both lanes at work: shaded from the top of one to the bottom of the other
      const from = Math.max(lanes.start, lanes.target_start),
        wide = x(from + lanes.overlap) - x(from);
      svg.append(
        rect(x(from), lane[0] - 6, wide, lane[1] + 24 - lane[0] + 22, { class: "both" }),
        svgText(x(from) + wide / 2, lane[1] + 36, `${fixed(lanes.overlap)} ms both`, {
          "text-anchor": "middle",
          class: "both-word",
        }),
      );
    }
    const name = (words, y) => svgText(0, y + 16, words, { class: "lane" });
    if (drafts) svg.append(name("Draft", lane[0]));
    svg.append(name("Target", lane[1]));
    step.forwards.forEach((forward, at) => {
      const node = bar(forward.start, forward.ms, lane[0], "draft", () => String(forward.wrote.length));
      node.dataset.forward = String(at);
      this.later.push(node);
      svg.append(node);
    });
    const out = step.emitted.length;
    const target = bar(step.target_start, step.target_ms, lane[1], "target", (wide) =>
      wide > 150
        ? `${plural(step.rows, "row")} in, ${plural(out, "token")} out`
        : wide > 44
          ? `${out} out`
          : String(out),
    );
    target.classList.add("ver");
    svg.append(target);
    if (beside.length) {
      svg.append(
        s("path", { d: `M${L} ${lane[2] - 15}H${W - R}`, class: "rule2" }),
        name("Plain", lane[2] + 2),
      );
      let at = 0;
      for (const ms of beside) {
        svg.append(bar(at, ms, lane[2], "target", () => "1"));
        at += ms;
      }
      const near = x(alone) > W - 130;
      svg.append(
        svgText(
          near ? Math.min(x(alone), W - R) : Math.max(L, x(alone)),
          lane[2] + 42,
          `${fixed(alone)} ms for ${whole ? "the same" : "the first"} ${plural(beside.length, "token")}`,
          { "text-anchor": near || x(alone) > 260 ? "end" : "start", class: "strong12" },
        ),
      );
    }
    const end = x(total),
      left = end > W - 90;
    svg.append(
      s("path", { d: `M${end} ${drafts ? lane[0] : lane[1]}V${lane[1] + 39}`, class: "endline ver" }),
      svgText(end + (left ? -6 : 6), lanes ? lane[0] - 4 : drafts ? lane[0] + 10 : lane[1] + 38, `${fixed(total)} ms`, {
        "text-anchor": left ? "end" : "start",
        class: "strong12 ver",
      }),
    );
    this.part.clock.replaceChildren(svg);
    const ratio = whole && total ? alone / total : 0;
    const device = info.facts.length
      ? `, as recorded on ${info.facts[info.facts.length - 1]}`
      : ", as recorded";
    const prompt = step.index ? "" : "; both include reading the prompt";
    this.part["clock-note"].replaceChildren(
      ratio
        ? `${ratio > 0.95 && ratio < 1.05 ? "as fast as" : ratio >= 1 ? `${fixed(ratio)}× faster than` : `${fixed(1 / ratio)}× slower than`} plain decoding${device}${prompt}`
        : plain
          ? "the plain run ends before this iteration"
          : `${fixed(total)} ms for ${plural(out, "token")}${device}; no plain run to compare with`,
    );
    this.drawRun(W, L, R, from, to);
  }
  drawRun(W, L, R, from, to) {
    const { info, i: now } = this,
      { plain, steps } = info;
    const first = steps[0].start,
      last = steps[steps.length - 1],
      own = last.start + last.ms - first;
    if (!this.plainSums) {
      let sum = 0;
      this.plainSums = [0, ...(plain ? plain.ms : []).map((ms) => (sum += ms))];
    }
    const sums = this.plainSums,
      alone = sums[sums.length - 1],
      whole = Math.max(own, alone, 0.01),
      x = (v) => L + ((W - L - R) * v) / whole;
    const edge = (q) => x(q < steps.length ? steps[q].start - first : own),
      plainEdge = (q) => x(sums[q]);
    const H = plain ? 62 : 38,
      tokens = last.written + last.emitted.length;
    const svg = s(
      "svg",
      {
        width: W,
        height: H,
        role: "img",
        "aria-label": `Whole run: ${fixed(own, 0)} ms${plain ? `, plain decoding ${fixed(alone, 0)} ms` : ""}`,
      },
      svgText(0, 15, cut(info.method, 10), {}),
      this.blocks(edge, steps.length, now, now + 1, 4),
      plain && this.blocks(plainEdge, plain.ms.length, from, to, 28),
      plain && svgText(0, 39, "plain", {}),
      svgText(L, H - 4, "0", { class: "axis" }),
      svgText(W - R, H - 4, `${fixed(whole, 0)} ms, ${plural(tokens, "token")}`, {
        "text-anchor": "end",
        class: "axis",
      }),
    );
    this.part.run.replaceChildren(svg);
    const spent = this.step.start + this.step.ms - first,
      upto = sums[Math.min(to, sums.length - 1)];
    this.part.runsay.textContent = plain
      ? `Up to here ${fixed(spent, 0)} ms against ${fixed(upto, 0)} ms plain.`
      : `Up to here ${fixed(spent, 0)} ms.`;
  }
  // Past, present and future forwards: one block each where there is room, else one bar each.
  blocks(edge, count, from, to, y) {
    const cuts = [0, Math.min(from, count), Math.min(to, count), count],
      room = (edge(count) - edge(0)) / count > 2.5;
    return ["past", "now", "soon"].map((name, part) => {
      let d = "";
      const start = cuts[part],
        end = cuts[part + 1];
      if (room)
        for (let q = start; q < end; q += 1)
          d += box(edge(q), y, Math.max(0.7, edge(q + 1) - edge(q) - 1), 14);
      else if (end > start) d = box(edge(start), y, Math.max(1.5, edge(end) - edge(start)), 14);
      return s("path", { d, class: "run-" + name });
    });
  }

  // ---- linked highlight --------------------------------------------------------------------------------------------------------

  lit(key) {
    // everything drawn that stands for a node, a phrase or a token
    const node = key.startsWith("n:") ? `t:${this.i}:${key.slice(2)}` : key;
    return [...(this.marks.get(key) || []), ...(this.textMarks.get(node) || [])];
  }
  paint() {
    const { root } = this,
      on = this.hover || this.lock;
    for (const el of this.lights || []) el.classList.remove("hl", "hl2", "row-hl");
    this.lights = [];
    this.part.tips.replaceChildren();
    if (this.maskMap) this.paintMask(null);
    root.classList.toggle("linked", Boolean(on && on.kind === "node"));
    root.classList.toggle("locked", Boolean(this.lock && !this.hover));
    if (!on) return;
    const light = (key, cls) => {
      for (const el of this.lit(key)) {
        el.classList.add(el.tagName === "LI" ? "row-hl" : cls);
        this.lights.push(el);
      }
    };
    const phraseOf = (tree, node) => (node >= 0 && node < tree.phrases.length ? tree.phrases[node] : -1);
    if (on.kind === "phrase") {
      light(`p:${on.at}`, "hl2");
      return this.tip(this.pointed || this.anchor || this.lit(`p:${on.at}`)[0], this.phraseTip(on.at));
    }
    if (on.kind === "token") {
      const step = this.info.steps[on.at],
        phrase = phraseOf(step.tree, on.of);
      if (phrase >= 0) light(`p:${phrase}`, "hl2");
      light(`t:${on.at}:${on.of}`, "hl");
      return this.tip(this.pointed, this.tokenTip(step, on.of));
    }
    const { nodes, tree } = this.step;
    const path = this.ancestors(on.at === this.own ? (nodes[nodes.length - 2] ?? -1) : on.at);
    for (const node of path) if (node !== on.at) light(`n:${node}`, "hl2");
    light(`n:${on.at}`, "hl");
    light(`r:${on.at}`, "row-hl");
    const phrase = phraseOf(tree, on.at);
    if (phrase >= 0)
      for (const el of this.lit(`p:${phrase}`))
        if (el.tagName === "LI") {
          el.classList.add("row-hl");
          this.lights.push(el);
        }
    if (this.maskMap && on.at !== this.own) this.paintMask(on.at);
    const inComb = this.lit(`n:${on.at}`).find((el) => this.part.comb.contains(el));
    this.tip((this.hover ? this.pointed : this.anchor) || inComb, this.nodeTip(on.at, path));
  }
  paintMask(node) {
    const { at, seen, x, y, c, L, C, band, hot, rowText, colText } = this.maskMap;
    for (const el of this.bold || []) el.classList.remove("bold");
    this.bold = [];
    const i = node === null ? undefined : at.get(node);
    band.setAttribute("visibility", i === undefined ? "hidden" : "visible");
    hot.setAttribute(
      "d",
      i === undefined
        ? ""
        : box(L + 0.5, y(i) + 1, C - 1, c - 2) +
            seen[i].map((j) => box(x(j) + 1, y(i) + 1, c - 2, c - 2)).join(""),
    );
    if (i === undefined) return;
    band.setAttribute("y", y(i));
    for (const el of [rowText[i], ...seen[i].map((j) => colText[j])])
      if (el) {
        el.classList.add("bold");
        this.bold.push(el);
      }
  }
  tip(anchor, [title, facts, more]) {
    if (!anchor || !anchor.isConnected) return;
    const tip = h(
      "div.tip",
      { role: "tooltip" },
      h("div.ti", null, title),
      h(
        "dl",
        null,
        facts.filter(Boolean).map(([name, value]) => [h("dt", null, name), h("dd", null, value)]),
      ),
      more,
    );
    this.part.tips.append(tip);
    const a = anchor.getBoundingClientRect(),
      r = this.root.getBoundingClientRect(),
      size = tip.getBoundingClientRect();
    tip.style.left = `${clamp(a.left - r.left + a.width / 2 - size.width / 2, 8, Math.max(8, r.width - size.width - 8))}px`;
    const below = a.bottom - r.top + 10,
      fits = below + size.height < r.height || a.top - r.top < size.height + 20;
    tip.style.top = `${fits ? below : a.top - r.top - size.height - 10}px`;
  }
  who(step, node) {
    // in words
    const { tree } = step;
    if (node < 0) return "committed before";
    if (node >= tree.tokens.length) return "the target itself";
    const forward = this.forwardOf(node, step);
    const names = {
      d: "draft model",
      p: "pool phrase",
      s: "pool phrase behind the draft",
      c: "copied from earlier text",
      w: "lookahead window",
      r: "retrieved from a text",
      j: "retrieved from rejected drafts",
      g: "retrieved for the target",
    };
    if (step.beside && this.trunk(tree).includes(node))
      return `${names[tree.kinds[node]]}, in the iteration before`;
    return names[tree.kinds[node]] + (forward >= 0 ? `, draft forward ${forward + 1}` : "");
  }
  tokenFacts(step, node, t) {
    const { tree, info } = { tree: step.tree, info: this.info };
    const phrase = node >= 0 && node < tree.phrases.length ? tree.phrases[node] : -1;
    const p = step.probabilities[step.nodes.indexOf(node)];
    return [
      ["proposed by", this.who(step, node)],
      p !== undefined && ["probability", likely(p)],
      phrase >= 0 && [
        "phrase from",
        `${this.phrase(phrase).origin}${this.phrase(phrase).born >= 0 ? `, iteration ${this.phrase(phrase).born + 1}` : ""}`,
      ],
      ["token id", String(info.ids[t])],
    ];
  }
  nodeTip(node, path) {
    const { step } = this,
      { tree } = step;
    if (node === this.own) {
      const t = step.emitted[step.emitted.length - 1],
        kept = step.emitted.length - 1;
      return [
        [this.chip(t, "target", { most: 60 }), h("b", null, " the target's own token")],
        [
          ["position", String(step.position + kept)],
          [
            "stands",
            kept ? `after the ${kept === 1 ? "token" : `${kept} tokens`} kept` : "at once: nothing was kept",
          ],
          ["costs", "nothing: it comes with the forward"],
          kept in step.probabilities && ["probability", likely(step.probabilities[kept])],
          ["token id", String(this.info.ids[t])],
        ],
      ];
    }
    if (node < 0)
      return [
        [this.chip(step.root, "root", { most: 60 }), h("b", null, " last committed token")],
        [
          ["position", String(step.position - 1)],
          ["looks at", `${step.position - 1} cached`],
          ["token id", String(this.info.ids[step.root])],
        ],
      ];
    const state = tree.states[node],
      t = tree.tokens[node],
      pick = tree.picks[tree.parents[node] + 1],
      trunk = tree.rows[0].nodes.includes(node);
    const said =
      state === "n" && !trunk
        ? "never reached"
        : state === "l" && !trunk
          ? "right after its own row, but never reached"
          : VERDICT[state];
    const facts = this.tokenFacts(step, node, t);
    facts.splice(0, 0, ["position", String(step.position + path.length - 2)]);
    if (pick >= 0) facts.push(["target says", this.chip(pick, "said")]);
    facts.push(["looks at", `${step.position - 1} cached, ${path.length} in the tree`]);
    return [
      [this.chip(t, `${ROLE[tree.kinds[node]]} ${STATE[state]}`, { most: 60 }), h("b", null, " " + said)],
      facts,
    ];
  }
  tokenTip(step, node) {
    const k = step.nodes.indexOf(node),
      t = step.emitted[k];
    return [
      [this.chip(t, `${ROLE[step.kinds[k]]} ok`, { most: 60 }), h("b", null, ` iteration ${step.index + 1}`)],
      [["position", String(step.position + k)], ...this.tokenFacts(step, node, t)],
      h("p.xs.q", null, "Click to open that iteration."),
    ];
  }
  phraseTip(at) {
    const { tokens, origin, born, uses, fate } = this.phrase(at);
    const go = uses.filter(([, kept]) => kept).slice(0, 6);
    const links = go.length
      ? h(
          "div.links",
          null,
          "open ",
          go.map(([i, kept]) =>
            h(
              "button.more",
              {
                type: "button",
                onclick: (event) => {
                  event.stopPropagation();
                  this.go(i, this.stages(i) - 1);
                },
              },
              `${i + 1} (${kept} kept)`,
            ),
          ),
        )
      : null;
    return [
      [this.chip(tokens[0], "key"), " → ", this.ribbon(tokens.slice(1), "phrase")],
      [
        ["phrase from", origin],
        ["born", born >= 0 ? `iteration ${born + 1}` : "before this run, or not recorded"],
        ["since then", fate || "never proposed"],
      ],
      links,
    ];
  }

  // ---- table twins -------------------------------------------------------------------------------------------------------------

  twin(name, details) {
    if (details.open) {
      this.open.add(name);
      this.fillTwin(name);
    } else this.open.delete(name);
  }
  fillTwin(name) {
    const table = (heads, rows) =>
      h(
        "div.scroll",
        null,
        h(
          "table.plain",
          null,
          h(
            "thead",
            null,
            h(
              "tr",
              null,
              heads.map((head) => h("th", { scope: "col" }, head)),
            ),
          ),
          h(
            "tbody",
            null,
            rows.map((row) =>
              h(
                "tr",
                null,
                row.map((cell) => h("td", null, cell)),
              ),
            ),
          ),
        ),
      );
    const { step } = this,
      { tree } = step;
    const made =
      name === "run"
        ? table(
            [
              "iteration",
              "drafted",
              "kept (A)",
              "#Match",
              "kept beside",
              "tokens out",
              "draft forwards",
              "rows",
              "ms",
            ],
            this.info.steps.map((one) =>
              [
                one.index + 1,
                one.drafted,
                one.accepted,
                one.matches,
                one.beyond,
                one.emitted.length,
                one.forwards.length,
                one.rows,
                fixed(one.ms),
              ].map(String),
            ),
          )
        : table(
            ["row", "position", "token", "proposed by", "target says", "verdict", "looks at"],
            tree.rows.flatMap((row) =>
              row.own.length
                ? row.own.map((node) => {
                    const path = this.ancestors(node),
                      pick = tree.picks[tree.parents[node] + 1];
                    return [
                      row.label,
                      String(step.position + path.length - 2),
                      this.look(tree.tokens[node], 40),
                      this.who(step, node),
                      pick < 0 ? "–" : this.look(pick, 40),
                      VERDICT[tree.states[node]],
                      `cache, ${path
                        .slice()
                        .reverse()
                        .map((other) => this.look(other < 0 ? step.root : tree.tokens[other], 10))
                        .join(" ")}`,
                    ];
                  })
                : [[row.label, "–", "–", "–", "–", this.pieceText(row.why), "–"]],
            ),
          );
    this.part["twin-" + name].replaceChildren(made);
  }
  pieceText(parts) {
    return parts.map((part) => (typeof part === "string" ? part : this.look(part))).join("");
  }
}

// ---- ways in ---------------------------------------------------------------------------------------------------------------------

/** Draw a run into an element; the handle steps, selects, takes new data, and cleans up. */
export function mount(el, info, options = {}) {
  let stepper;
  const make = (data, step) => {
    const known = data && data.schema === SCHEMA;
    const shown = known
      ? data
      : {
          notice:
            data && data.schema
              ? "This view was saved by another version of phrasekit. Make it again with the version installed."
              : "There is no trace data here. Run the cell again.",
          steps: [],
        };
    stepper = new Stepper(el, shown, { ...options, step });
  };
  make(info, options.step);
  return {
    get view() {
      return stepper;
    },
    get step() {
      return stepper.i || 0;
    },
    get length() {
      return stepper.info.steps.length;
    },
    get root() {
      return stepper.root;
    },
    go: (i) => {
      if (stepper.part) stepper.go(i);
    },
    select: (what) => {
      if (!stepper.part) return;
      if (what && what.iteration !== undefined) stepper.go(what.iteration);
      const next = !what
        ? null
        : what.node !== undefined
          ? { kind: "node", at: what.node }
          : { kind: "phrase", at: what.phrase };
      const { lock } = stepper;
      if (Boolean(next) !== Boolean(lock) || (next && (next.kind !== lock.kind || next.at !== lock.at)))
        stepper.select(next);
    },
    theme: (name) => {
      stepper.theme = name;
      stepper.applyTheme();
    },
    update: (data, step = stepper.i) => {
      const { theme, faded, open } = stepper,
        focused = stepper.root.matches(":focus");
      stepper.destroy();
      options = { ...options, theme };
      make(data, step);
      stepper.restore(faded, open);
      if (focused) stepper.root.focus();
    },
    destroy: () => stepper.destroy(),
  };
}

// anywidget's model has get, set and "change:name"; Panel's has plain attributes and on(name).
function port(model) {
  if (typeof model.get === "function" && typeof model.save_changes === "function") {
    return {
      read: (name) => model.get(name),
      write: (name, value) => {
        model.set(name, value);
        model.save_changes();
      },
      watch: (name, call) => {
        model.on(`change:${name}`, call);
        return () => model.off(`change:${name}`, call);
      },
    };
  }
  return {
    read: (name) => model[name],
    write: (name, value) => {
      model[name] = value;
    },
    watch: (name, call) => {
      model.on(name, call);
      return () => model.off && model.off(name, call);
    },
  };
}

// Links of other views name a run and an iteration; steppers of that run follow them.
const LINK = /^#phrasekit-([0-9a-f]+)-([0-9]+)$/;
const placed = new Map(); // by element, while it is in the page
function follow(href) {
  const [, key, number] = LINK.exec(href) || [];
  if (!key) return false;
  for (const [host, view] of placed) {
    if (!host.isConnected) placed.delete(host);
    else if (view.root && view.view.info.key === key) {
      view.go(Number(number) - 1);
      host.scrollIntoView({ block: "start" });
      view.root.focus({ preventScroll: true });
      return true;
    }
  }
  return false;
}
function linked(host, view) {
  if (!placed.size)
    document.addEventListener("click", (event) => {
      const link = event.target.closest && event.target.closest("a[href^='#phrasekit-']");
      if (link && !event.defaultPrevented && follow(link.getAttribute("href"))) event.preventDefault();
    });
  placed.set(host, view);
}

/** Entry of anywidget and Panel: traits `info`, `step`, `selection`, `theme`, the middle two in both directions. */
export function render({ model, el }) {
  const { read, write, watch } = port(model);
  const host = document.createElement("div");
  el.append(host);
  const same = (a, b) => JSON.stringify(a || null) === JSON.stringify(b || null);
  const view = mount(host, read("info"), {
    step: read("step"),
    theme: read("theme"),
    onStep: (step) => {
      if (read("step") !== step) write("step", step);
    },
    onSelect: (selection) => {
      if (!same(read("selection"), selection)) write("selection", selection);
    },
  });
  linked(host, view);
  if (read("selection")) view.select(read("selection"));
  const ends = [
    watch("step", () => {
      const step = read("step"); // one beyond the end belongs to data still on its way
      if (step !== view.step && step < view.length) view.go(step);
    }),
    watch("selection", () => view.select(read("selection"))),
    watch("theme", () => view.theme(read("theme"))),
    watch("info", () => view.update(read("info"), read("step"))),
  ];
  return () => {
    ends.forEach((end) => end());
    view.destroy();
    host.remove();
  };
}

/** Entry of static pages: every host element holds its data as JSON; what it shows without scripts gives way. */
export function boot(css) {
  const all = () => {
    for (const host of document.querySelectorAll("[data-phrasekit-stepper]")) {
      if (host.shadowRoot) continue;
      let data = {};
      try {
        data = JSON.parse(host.querySelector("script[type='application/json']").textContent);
      } catch {
        data = {};
      }
      const shadow = host.attachShadow({ mode: "open" });
      const style = document.createElement("style");
      style.textContent = css;
      const el = document.createElement("div");
      shadow.append(style, el);
      host.stepper = mount(el, data.info, { step: data.step, theme: data.theme });
      linked(host, host.stepper);
      follow(location.hash); // a page opened by such a link
    }
  };
  all(); // a notebook may attach the output a moment after its scripts ran
  for (const wait of [50, 400, 2000]) setTimeout(all, wait);
}

export default { render };
