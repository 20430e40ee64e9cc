// Judging with the keyboard. The token stands behind # in the address, where no server and no log sees it; it is taken
// out of the address at once and sent as a header, which no page of another site can do.
"use strict";

const keys = { y: "right", n: "wrong", u: "unsure" };
let token = location.hash.slice(1);
try {
  if (token) sessionStorage.setItem("markscheme-token", token);
  else token = sessionStorage.getItem("markscheme-token") ?? "";
  $("[name=who]").value = sessionStorage.getItem("markscheme-who") ?? $("[name=who]").value;
} catch { /* asked for again after a reload, then */ }
history.replaceState(null, "", location.pathname);

let here = null; // what is shown
let busy = false; // a key pressed twice is one label: nobody judges what is not shown yet

async function send(path, body) {
  const answer = await fetch(path, {
    method: "POST", headers: { "Content-Type": "application/json", "X-Markscheme-Token": token },
    body: JSON.stringify(body), cache: "no-store",
  });
  if (!answer.ok) throw new Error(await answer.text());
  return answer.json();
}

const who = () => $("[name=who]").value.trim();

async function step(path, body) {
  if (busy) return;
  busy = true;
  $("#shown").ariaBusy = "true";
  try {
    const next = await send(path, { who: who(), ...body });
    const counted = here?.done !== next.done || here?.who !== who();
    here = { ...next, who: who() };
    draw();
    $("#trouble").hidden = true;
    // Not after each: how the figure moves would tell what the marker had said.
    if (counted && (here.done % 10 === 0 || here.at === null || !$("#worth").textContent)) tellWorth();
  } catch (error) {
    $("#trouble").textContent = `Not kept: ${error instanceof TypeError ? "the server does not answer" : error.message}`;
    $("#trouble").hidden = false;
  }
  busy = false;
  $("#shown").ariaBusy = "false";
}

function tellWorth() {
  send("/worth", {}).then((told) => { $("#worth").textContent = told.worth; }, () => {});
}

function draw() {
  $("#progress").textContent = `${here.done} of ${here.of} judged by ${here.who}`;
  $("#before").textContent = here.before ? `You said: ${here.before}.` : "";
  $("#judge").hidden = here.at === null;
  const done = document.createElement("p");
  done.textContent = "All are judged. Thank you.";
  $("#shown").replaceChildren(...(here.at === null ? [done] : parse(here.html).body.childNodes));
  scrollTo(0, 0);
  // Of what does not fit, the end: there the answer stands.
  if ($("#shown").getBoundingClientRect().bottom > innerHeight) $("#shown").scrollIntoView({ block: "end" });
}

function press(key) {
  if (!here || here.at === null) return;
  if (Object.hasOwn(keys, key)) step("/label", { at: here.at, content: here.content, label: keys[key] });
  else if (key === "b" && here.at > 0) step("/show", { at: here.at - 1 });
  else if (key === "m") step("/show", { at: here.at, whole: true });
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || $("#keys").open) return;
  if (event.target.closest?.("input:not([type=checkbox])")) return;
  press(event.key);
});
$("#judge").addEventListener("click", (event) => {
  const button = event.target.closest("button");
  const label = button?.dataset.label;
  press(label ? Object.keys(keys).find((key) => keys[key] === label) : { back: "b", whole: "m" }[button?.dataset.move]);
});
$("#person").addEventListener("submit", (event) => {
  event.preventDefault();
  try { sessionStorage.setItem("markscheme-who", who()); } catch { /* asked for again after a reload, then */ }
  $("[name=who]").blur();
  step("/show", {});
});
$("[name=who]").addEventListener("change", () => $("#person").requestSubmit());
step("/show", {});
