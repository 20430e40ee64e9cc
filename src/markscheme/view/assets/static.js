// The exported site only: filters the list of responses that lies beside the page, and sorts the table of runs.
// Model text is only ever set as text.
"use strict";
{
  const data = window.markscheme;
  const form = document.getElementById("static-filter");
  const AT_ONCE = 200;
  let shown = AT_ONCE;

  const cell = (tag, content, kind = "") => {
    const made = document.createElement(tag);
    made.className = kind;
    if (content instanceof Node) made.append(content); else made.textContent = content ?? "–";
    return made;
  };
  const link = (href, content) => { const made = document.createElement("a"); made.href = href; made.append(content); return made; };
  const badge = (name) => {
    const look = form.elements.verdict.querySelector(`option[value="${CSS.escape(name)}"]`)?.dataset ?? { symbol: "?", word: name };
    const made = cell("span", "", `badge v-${name}`);
    made.append(cell("span", look.symbol, "sym"), look.word);
    return made;
  };

  function matches(row, index, asked) {
    const [problem, , id, verdicts, answer, why, tokens, , , cut, disagree] = row;
    if (asked.verdict && verdicts[0] !== asked.verdict) return false;
    if (asked.problem && !id.toLowerCase().includes(asked.problem.toLowerCase())) return false;
    if (asked.group) {
      const [field, ...label] = asked.group.split(":");
      if (data.groups[field]?.[problem] !== label.join(":")) return false;
    }
    if (asked.min_tokens && !(tokens >= Number(asked.min_tokens))) return false;
    if (asked.max_tokens && !(tokens >= 0 && tokens <= Number(asked.max_tokens))) return false;
    if (asked.truncated && !cut && verdicts[0] !== "truncated") return false;
    if (asked.disagree && !disagree) return false;
    if (asked.q) {
      const words = asked.q.toLowerCase();
      const texts = [id, answer ?? "", why, data.texts?.[index] ?? ""];
      if (!texts.some((text) => text.toLowerCase().includes(words))) return false;
    }
    return true;
  }

  function draw() {
    const asked = Object.fromEntries(new FormData(form));
    const found = data.rows.map((row, index) => [row, index]).filter(([row, index]) => matches(row, index, asked));
    const body = document.querySelector("#static-list tbody");
    body.replaceChildren(...found.slice(0, shown).map(([row]) => {
      const [problem, sample, id, verdicts, answer, why, tokens, size, latency] = row;
      const line = document.createElement("tr");
      const to = `response/${problem + 1}-${sample}.html`;
      const judged = cell("td", link(to, badge(verdicts[0])), "nowrap");
      line.append(
        cell("th", link(`problem/${problem + 1}.html`, id)), cell("td", link(to, String(sample)), "r n"), judged,
        cell("td", answer === null ? "–" : cell("code", answer, "answer")), cell("td", why, "why"),
        cell("td", tokens < 0 ? "–" : tokens.toLocaleString("en"), "r n"), cell("td", size.toLocaleString("en"), "r n"),
        cell("td", latency === null ? "–" : `${latency} s`, "r n"),
      );
      return line;
    }));
    const where = asked.q && !data.texts ? " (words are looked for in ids, answers and reasons)" : "";
    document.getElementById("static-found").textContent = `${found.length.toLocaleString("en")} of ${data.rows.length.toLocaleString("en")} responses${where}`;
    document.getElementById("static-more").hidden = found.length <= shown;
    const query = new URLSearchParams(Object.entries(asked).filter(([, value]) => value));
    history.replaceState(null, "", query.size ? `#${query}` : location.pathname.split("/").pop());
  }

  function readAddress() {
    for (const [name, value] of new URLSearchParams(location.hash.slice(1))) {
      const field = form.elements[name];
      if (!field) continue;
      if (field.type === "checkbox") field.checked = value === "1" || value === "on"; else field.value = value;
    }
  }

  if (form && data) {
    readAddress();
    let waiting;
    form.addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(() => { shown = AT_ONCE; draw(); }, 120); });
    form.addEventListener("submit", (event) => event.preventDefault());
    document.getElementById("static-more").addEventListener("click", () => { shown += AT_ONCE; draw(); });
    window.addEventListener("hashchange", () => { form.reset(); readAddress(); draw(); });
    draw();
  }

  // The table of runs
  const table = document.getElementById("runs");
  const search = document.querySelector('form[data-table="runs"]');
  if (table && search) {
    const narrow = () => {
      const asked = Object.fromEntries(new FormData(search));
      const words = asked.q.toLowerCase().split(/\s+/).filter(Boolean);
      for (const group of table.querySelectorAll("tr.group")) group.hidden = true;
      let group = null;
      for (const row of table.tBodies[0].rows) {
        if (row.classList.contains("group")) { group = row; continue; }
        const text = row.textContent.toLowerCase();
        row.hidden = !(words.every((word) => text.includes(word)) && (!asked.benchmark || row.dataset.benchmark === asked.benchmark) && (!asked.status || row.dataset.status === asked.status) && (!asked.experiment || row.dataset.experiment === asked.experiment));
        if (group && row.dataset.experiment !== group.dataset.experiment) group = null;
        if (group && !row.hidden) group.hidden = false;
      }
    };
    search.addEventListener("input", narrow);
    search.addEventListener("submit", (event) => { event.preventDefault(); narrow(); });
    for (const heading of table.tHead.querySelectorAll("a[data-column]")) {
      heading.addEventListener("click", (event) => {
        event.preventDefault();
        const own = heading.closest("th");
        const down = own.getAttribute("aria-sort") === "ascending";
        for (const other of table.tHead.querySelectorAll("th")) other.removeAttribute("aria-sort");
        own.setAttribute("aria-sort", down ? "descending" : "ascending");
        const value = (row) => row.dataset[heading.dataset.column];
        for (const group of table.querySelectorAll("tr.group")) group.remove();  // sorted, runs of an experiment lie apart
        const rows = [...table.tBodies[0].rows].sort((a, b) => {
          const [x, y] = [value(a), value(b)];
          if (x === "" || y === "") return (x === "") - (y === "");
          const order = isNaN(x) || isNaN(y) ? x.localeCompare(y) : x - y;
          return down ? -order : order;
        });
        table.tBodies[0].append(...rows);
      });
    }
  }
}
