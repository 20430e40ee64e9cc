// What a page can do beyond links and forms: keys, news from a running run, long texts piece by piece, tooltips.
// Pages work without it. Server text is only ever inserted after the server escaped it, and scripts in it never run.
"use strict";

const $ = (selector, root = document) => root.querySelector(selector);
const all = (selector, root = document) => [...root.querySelectorAll(selector)];
const parse = (html) => new DOMParser().parseFromString(html, "text/html");

// Light and dark ------------------------------------------------------------------------------------------------
const themeButton = $("#theme-button");
themeButton.hidden = false;
themeButton.addEventListener("click", () => {
  const root = document.documentElement;
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
  try { localStorage.setItem("markscheme-theme", root.dataset.theme); } catch { /* not kept, then */ }
});

// Keys ----------------------------------------------------------------------------------------------------------
const keysDialog = $("#keys");
const keysButton = $("#keys-button");
keysButton.hidden = false;
keysButton.addEventListener("click", () => keysDialog.showModal());

const actions = {
  "?": () => (keysDialog.open ? keysDialog.close() : keysDialog.showModal()),
  "/": () => $("[data-search]")?.focus(),
  r: () => $("#raw")?.click(),
  p: () => $("#problem > summary")?.click(),
  t: () => all("details.reasoning").forEach((fold) => { fold.open = !fold.open; }),
  a: toAnswer,
};
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
  if (event.target.closest?.("input, select, textarea") && event.target.type !== "checkbox") {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  if (keysDialog.open && event.key !== "?") return;
  const link = $(`a[data-key="${CSS.escape(event.key)}"]`);
  if (link) { event.preventDefault(); location.assign(link.href); }
  else if (Object.hasOwn(actions, event.key)) { event.preventDefault(); actions[event.key](); }
});

function toAnswer() {
  const mark = all(".text mark").find((one) => one.checkVisibility?.() ?? true) ?? $(".text mark");
  if (!mark) return;
  const fold = mark.closest("details");
  if (fold) fold.open = true;
  mark.scrollIntoView({ block: "center" });
}
$("#to-answer")?.addEventListener("click", (event) => { event.preventDefault(); toAnswer(); });

// Raw text and an open problem stay so from response to response --------------------------------------------------
function remember(element, property, event) {
  if (!element) return;
  const name = `markscheme-${element.id}`;
  try {
    const kept = sessionStorage.getItem(name);
    if (kept !== null) element[property] = kept === "1";
  } catch { /* as the page has it, then */ }
  element.addEventListener(event, () => {
    try { sessionStorage.setItem(name, element[property] ? "1" : "0"); } catch { /* not kept, then */ }
  });
}
remember($("#raw"), "checked", "change");
remember($("#problem"), "open", "toggle");

// Columns of the list, remembered ---------------------------------------------------------------------------------
if ($("#chooser")) {
  $("#chooser").hidden = false;
  const hide = (column, hidden) => document.documentElement.classList.toggle(`no-${column}`, hidden);
  for (const box of all("#chooser [data-column]")) {
    const name = `markscheme-column-${box.dataset.column}`;
    try { box.checked = localStorage.getItem(name) !== "0"; } catch { /* all of them, then */ }
    hide(box.dataset.column, !box.checked);
    box.addEventListener("change", () => {
      hide(box.dataset.column, !box.checked);
      try { localStorage.setItem(name, box.checked ? "1" : "0"); } catch { /* not kept, then */ }
    });
  }
}

// Copy ----------------------------------------------------------------------------------------------------------
for (const button of all("[data-copy]")) {
  button.hidden = false;
  button.addEventListener("click", async () => {
    const source = document.getElementById(button.dataset.copy);
    try { await navigator.clipboard.writeText(source.textContent); button.textContent = "Copied"; }
    catch { getSelection().selectAllChildren(source); button.textContent = "Selected"; }
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  });
}

// Forms that need no button -------------------------------------------------------------------------------------
document.addEventListener("change", (event) => {
  if (event.target.matches("[data-submit]")) event.target.form.requestSubmit();
});
// Empty fields stay out of the address, so that it is short enough to be shared.
document.addEventListener("submit", (event) => {
  for (const field of event.target.elements) {
    if (field.name && (field.value === "" || (field.name === "down" && field.value === "0"))) field.disabled = true;
  }
  setTimeout(() => { for (const field of event.target.elements) field.disabled = false; });
});

// Runs to compare -----------------------------------------------------------------------------------------------
const chosen = new Set(all('#compare input[name="run"]:checked').map((box) => box.value));
function showChosen() {
  if (!$("#compare-button")) return;
  for (const box of all('#compare input[name="run"]')) box.checked = chosen.has(box.value);
  $("#compare-button").disabled = chosen.size < 2;
  $("#compare-count").textContent = chosen.size ? `${chosen.size} selected` : "Tick two or more runs to compare them.";
}
document.addEventListener("change", (event) => {
  if (!event.target.matches('#compare input[name="run"]')) return;
  if (event.target.checked) chosen.add(event.target.value); else chosen.delete(event.target.value);
  showChosen();
});
showChosen();

// News: ask for the same page again and exchange the parts that changed -------------------------------------------
let tag = null;
async function news() {
  const again = Number(document.body.dataset.again);
  if (!again) return;
  await new Promise((resolve) => setTimeout(resolve, again * 1000));
  if (document.hidden) await new Promise((resolve) => document.addEventListener("visibilitychange", resolve, { once: true }));
  try {
    const answer = await fetch(location.href, { headers: tag ? { "If-None-Match": tag } : {}, cache: "no-store" });
    if (answer.ok) {
      tag = answer.headers.get("ETag");
      const fresh = parse(await answer.text());
      const ids = (root) => all(".part[id]", root).map((part) => part.id).join();
      if (ids(document) !== ids(fresh)) { location.reload(); return; } // the page has other parts now
      for (const part of all(".part[id]")) {
        const other = fresh.getElementById(part.id);
        for (const fold of all("details[id]", other)) fold.open = document.getElementById(fold.id)?.open ?? false;
        if (other.innerHTML !== part.innerHTML && !part.contains(document.activeElement)) part.replaceWith(document.adoptNode(other));
      }
      document.body.dataset.again = fresh.body.dataset.again ?? "";
      showChosen();
    } else if (answer.status !== 304) {
      document.body.dataset.again = "5";
    }
  } catch {
    document.body.dataset.again = "5"; // the server is gone; it may come back
  }
  news();
}
news();

// Long texts: a piece is asked for when it comes near the window --------------------------------------------------
const nearing = new IntersectionObserver((entries) => {
  for (const entry of entries) if (entry.isIntersecting) { nearing.unobserve(entry.target); bring(entry.target); }
}, { rootMargin: "1500px" });
async function bring(place) {
  const text = place.closest(".text");
  const query = new URLSearchParams({ from: place.dataset.from, to: place.dataset.to, part: text.dataset.part });
  try {
    const answer = await fetch(`${text.dataset.piece}?${query}`);
    if (!answer.ok) throw new Error(answer.statusText);
    place.replaceChildren(...parse(await answer.text()).body.childNodes);
  } catch { place.textContent = "This piece could not be read."; }
  place.classList.add("here");
}
for (const place of all(".later")) nearing.observe(place);

// The other protocols' verdicts, judged when the page is open ------------------------------------------------------
const judgements = $("#judgements[data-more]");
if (judgements) {
  const note = $("#judgements-note");
  fetch(judgements.dataset.more).then(async (answer) => {
    if (!answer.ok) throw new Error(answer.statusText);
    const rows = parse(`<table><tbody>${await answer.text()}</tbody></table>`);
    judgements.append(...all("tr", rows));
    note.textContent = "Marks of the run first; the other protocols marked the response just now, and nothing was written.";
  }).catch(() => { note.textContent = "The other protocols could not mark the response."; });
}

// Tooltips at once, for what has a title inside an SVG -------------------------------------------------------------
const tip = $("#tip");
document.addEventListener("pointerover", (event) => {
  const owner = event.target.closest?.("svg *, svg");
  const title = owner && [...owner.children].find((child) => child.tagName === "title") || owner?.closest("svg")?.querySelector(":scope > title");
  if (!title) { tip.hidden = true; return; }
  tip.textContent = title.textContent;
  tip.hidden = false;
});
document.addEventListener("pointermove", (event) => {
  if (tip.hidden) return;
  const right = event.clientX + 14 + tip.offsetWidth > innerWidth;
  tip.setAttribute("data-side", right ? "left" : "right");
  tip.style.left = `${right ? Math.max(4, event.clientX - 14 - tip.offsetWidth) : event.clientX + 14}px`;
  tip.style.top = `${Math.max(4, event.clientY - tip.offsetHeight - 10)}px`;
});
document.addEventListener("pointerleave", () => { tip.hidden = true; });
