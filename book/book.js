// What the pages gain where scripts run: copying, search, the current section.  Nothing here is
// needed to read.
"use strict";

// ---- Copy ------------------------------------------------------------------------------------
function textOf(pre) {
  const command = pre.querySelector("kbd");
  if (command) return command.textContent;
  return pre.querySelector("code").textContent.replace(/\n$/, "");
}
async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
}
for (const figure of document.querySelectorAll("figure.listing:not(.mutant)")) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "copy";
  button.textContent = "Copy";
  button.setAttribute("aria-label", figure.matches(".run") ? "Copy the command" : "Copy the code");
  button.onclick = async () => {
    await copy(textOf(figure.querySelector("pre")));
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  };
  figure.append(button);
}

// What can be scrolled sideways can be scrolled by keys, and only that is a stop of Tab.
for (const box of document.querySelectorAll("pre, .scroll, div.table, math[display=block]")) {
  if (box.scrollWidth > box.clientWidth + 1) box.tabIndex = 0;
}

// ---- The current section ---------------------------------------------------------------------
const steps = [...document.querySelectorAll(".sections a")].map(link =>
  ({ link, head: document.getElementById(decodeURIComponent(link.hash.slice(1))) }))
  .filter(step => step.head);
function follow() {
  let now = null;
  for (const step of steps) if (step.head.getBoundingClientRect().top < innerHeight / 3) now = step;
  for (const step of steps) {
    step.link.classList.toggle("now", step === now);
    if (step === now) step.link.setAttribute("aria-current", "location");
    else step.link.removeAttribute("aria-current");
  }
}
if (steps.length) {
  let waiting = false;
  addEventListener("scroll", () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; follow(); });
  }, { passive: true });
  follow();
}
const map = document.getElementById("map");
const current = map.querySelector('[aria-current="page"]');
if (current && map.scrollHeight > map.clientHeight) {
  map.scrollTop = current.offsetTop - map.clientHeight / 4;
}

// ---- Search ----------------------------------------------------------------------------------
const box = map.querySelector(".search"), input = box.querySelector("input");
const hits = box.querySelector(".hits"), status = box.querySelector(".status");
box.hidden = false;
let loading = null;
function load() {
  return loading ??= new Promise((done, failed) => {
    const script = document.createElement("script");
    script.src = "search.js";
    script.onload = () => done(window.BOOK_INDEX.map(([url, title, where, text]) =>
      ({ url, title, where, text, low: text.toLowerCase(), head: title.toLowerCase() })));
    script.onerror = failed;
    document.head.append(script);
  });
}
function rank(entry, words) {
  let score = 0;
  for (const word of words) {
    const inHead = entry.head.indexOf(word), inText = entry.low.indexOf(word);
    if (inHead < 0 && inText < 0) return 0;
    score += inHead === 0 ? 60 : inHead > 0 ? 30 : 0;
    score += inText < 0 ? 0 : 4 + Math.min(8, entry.low.split(word).length);
  }
  return entry.head === words.join(" ") ? score + 100 : score;
}
function excerpt(entry, word) {
  const at = Math.max(0, entry.low.indexOf(word)), from = Math.max(0, at - 40);
  const line = document.createElement("span"), text = entry.text;
  const mark = document.createElement("mark");
  mark.textContent = entry.low.includes(word) ? text.slice(at, at + word.length) : "";
  line.append((from ? "…" : "") + text.slice(from, at), mark,
    text.slice(at + mark.textContent.length, at + 90));
  return line;
}
async function search() {
  const words = input.value.toLowerCase().split(/\s+/).filter(word => word.length > 1);
  hits.textContent = status.textContent = "";
  if (!words.length) return;
  const index = await load();
  const found = index.map(entry => [rank(entry, words), entry]).filter(([score]) => score > 0)
    .sort((a, b) => b[0] - a[0]).slice(0, 20);
  hits.textContent = "";
  status.textContent = found.length ? "" : "Nothing found.";
  for (const [, entry] of found) {
    const item = document.createElement("li"), link = document.createElement("a");
    const title = document.createElement("b"), where = document.createElement("small");
    link.href = entry.url;
    title.textContent = entry.title;
    where.textContent = entry.where;
    link.append(title, where, excerpt(entry, words[0]));
    item.append(link);
    hits.append(item);
  }
}
input.addEventListener("input", search);
input.addEventListener("focus", () => load().catch(() => {}));
addEventListener("keydown", event => {
  const typing = event.target.closest?.("input, textarea");
  if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
    if (getComputedStyle(map).position !== "sticky") location.hash = "map";
    input.focus();
    event.preventDefault();
  } else if (event.key === "Escape" && event.target === input) {
    input.value = "";
    search();
    input.blur();
  }
});
