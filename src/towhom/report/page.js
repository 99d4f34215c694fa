"use strict";
(() => {
  const byId = (id) => document.getElementById(id);
  const dialog = byId("messages"), list = byId("list"), more = byId("more"), main = byId("part");
  const PAGE = 200;
  let data, rest = [], here = -1;

  // The messages are unpacked when they are first asked for.
  const load = async () => {
    if (data) return data;
    const packed = Uint8Array.from(atob(byId("data").textContent), (sign) => sign.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
    data = JSON.parse(await new Response(stream).text());
    data.first = new Map(data.answers);
    data.soonest = new Set(data.first.values());
    return data;
  };

  const room = () => Number(main.dataset.room ?? -1);
  const dayOf = (time) => Math.floor(time / 86400);
  const starts = (iso) => Date.parse(`${iso}T00:00:00Z`) / 1000;
  const ends = (iso, unit) => {
    const day = new Date(`${iso}T00:00:00Z`);
    if (unit === "year") day.setUTCFullYear(day.getUTCFullYear() + 1);
    else if (unit === "month") day.setUTCMonth(day.getUTCMonth() + 1);
    else day.setUTCDate(day.getUTCDate() + (unit === "week" ? 7 : 1));
    return day / 1000;
  };

  const binOf = (number) => {
    const answer = data.first.get(number);
    if (answer === undefined) return data.waits.length + 1;
    const wait = Math.max(data.time[answer] - data.time[number], 0);
    const bin = data.waits.findIndex((end) => wait <= end);
    return bin < 0 ? data.waits.length : bin;
  };

  // What a number was counted from: the same rules as in Python.
  const BOT = 1, QUESTION = 2, ANSWER = 4, SHOWN = 8, OPEN = 16;
  const tests = {
    weekday: (n, value) => data.time[n] !== null && (dayOf(data.time[n]) + 3) % 7 === Number(value),
    hour: (n, value) => data.time[n] !== null && Math.floor((data.time[n] % 86400) / 3600) === Number(value),
    who: (n, value, all) => data.speaker[n] === Number(value)
      || (all.both === "1" && data.speaker[n] === Number(all.whom)),
    whom: (n, value, all) => {
      const to = data.speaker[data.link[n]];
      if (all.both !== "1") return to === Number(value);
      return to === (data.speaker[n] === Number(all.who) ? Number(value) : Number(all.who));
    },
    linked: (n) => data.speaker[data.link[n]] !== data.speaker[n] && !(data.flags[data.link[n]] & BOT),
    answer: (n) => data.flags[n] & ANSWER,
    question: (n) => data.flags[n] & QUESTION,
    answered: (n) => data.first.has(n),
    open: (n) => data.flags[n] & OPEN,
    bin: (n, value) => binOf(n) === Number(value),
    starts: (n) => data.talks.has(n),
    soonest: (n) => data.soonest.has(n),
    numbers: (n, value, all) => (all.set ??= new Set(value.split(",").map(Number))).has(n),
    room: (n, value) => data.room[n] === Number(value),
    from: (n, value, all) => data.time[n] >= starts(value) && data.time[n] < ends(value, all.unit),
  };

  const find = (query) => {
    const all = Object.fromEntries(new URLSearchParams(query));
    if (all.thread !== undefined) {
      const thread = Number(all.thread);
      return data.thread.flatMap((start, n) => (start === thread ? [n] : []));
    }
    if (all.starts && !data.talks) {
      const sizes = new Map();
      for (const start of data.thread) sizes.set(start, (sizes.get(start) ?? 0) + 1);
      data.talks = new Set([...sizes].filter(([, size]) => size > 1).map(([start]) => start));
    }
    const only = room();
    const chosen = Object.entries(all).filter(([key]) => tests[key]);
    const found = [];
    for (let n = 0; n < data.text.length; n++) {
      const flags = data.flags[n];
      if (!(flags & SHOWN) || flags & BOT || (only >= 0 && data.room[n] !== only)) continue;
      if (chosen.every(([key, value]) => tests[key](n, value, all))) found.push(n);
    }
    if (!all.once) return found;
    const known = new Set();
    return found.filter((n) => !known.has(data.speaker[n]) && known.add(data.speaker[n]));
  };

  const when = (time) => time === null ? "" : new Date(time * 1000).toISOString().slice(0, 16).replace("T", " ");

  const item = (n) => {
    const li = document.createElement("li"), facts = document.createElement("p"), text = document.createElement("p");
    facts.className = "facts";
    const name = document.createElement("b");
    name.textContent = data.people[data.speaker[n]];
    const link = document.createElement("a");
    link.href = `#m${n}`;
    link.textContent = "conversation";
    facts.append(name, ` · ${[when(data.time[n]), data.rooms[data.room[n]]].filter(Boolean).join(" · ")} · `, link);
    text.textContent = data.text[n];
    text.dir = "auto";
    li.append(facts, text);
    li.title = `${data.id[n]}`;
    if (n === here) li.className = "here";
    return li;
  };

  const fill = () => {
    list.append(...rest.splice(0, PAGE).map(item));
    more.hidden = rest.length === 0;
    more.textContent = `Show more (${rest.length.toLocaleString("en")} left)`;
  };

  const show = async (query, title, focus = -1) => {
    try {
      await load();
    } catch (error) {
      alert("This browser cannot unpack the messages of the report; a newer one can.");
      return;
    }
    const found = find(query);
    here = focus;
    byId("what").textContent = title;
    byId("about").textContent = `${found.length.toLocaleString("en")} ${found.length === 1 ? "message" : "messages"}`;
    list.replaceChildren();
    rest = found;
    fill();
    if (!dialog.open) dialog.showModal();
    dialog.scrollTop = 0;
    list.querySelector(".here")?.scrollIntoView({ block: "center" });
  };

  /** The address with which the page opens as it is shown; a page in a frame has none. */
  const setHash = (hash) => {
    try {
      history.replaceState(null, "", hash || location.pathname + location.search);
    } catch {
      // Then it cannot be linked to, and works all the same.
    }
  };

  const showHash = async (hash = location.hash) => {
    const found = /^#m(\d+)$/.exec(hash);
    if (!found) return;
    await load();
    const n = Number(found[1]);
    if (n < data.text.length) show(`thread=${data.thread[n]}`, "The conversation", n);
  };

  const titleOf = (target) => {
    const title = target.querySelector("title") ?? target.closest("[data-q]").querySelector("title");
    return target.dataset.title ?? title?.textContent ?? target.textContent.trim();
  };

  document.addEventListener("click", (event) => {
    const target = event.target.closest?.("[data-q]");
    if (target) show(target.dataset.q, titleOf(target));
    const link = event.target.closest?.('a[href^="#m"]');
    if (link && !event.ctrlKey && !event.metaKey && !event.shiftKey) {
      event.preventDefault(); // in a frame, such links lead nowhere
      setHash(link.hash);
      showHash(link.hash);
    }
    const goes = event.target.closest?.("[data-go]");
    if (goes) { byId("room").value = goes.dataset.go; change(); }
  });
  more.addEventListener("click", fill);
  byId("close").addEventListener("click", () => dialog.close());
  dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
  dialog.addEventListener("close", () => setHash(""));
  byId("print").addEventListener("click", () => print());
  addEventListener("hashchange", () => showHash());
  addEventListener("beforeprint", () => { for (const each of document.querySelectorAll("details")) each.open = true; });

  const whole = document.createElement("template");
  whole.content.append(...main.childNodes);
  main.append(whole.content.cloneNode(true));
  const change = () => {
    const value = byId("room").value;
    const from = value === "-1" ? whole : byId(`room${value}`);
    main.dataset.room = value;
    main.replaceChildren(from.content.cloneNode(true));
    ready();
    scrollTo(0, 0);
  };
  byId("room")?.addEventListener("change", change);

  const ready = () => {
    for (const each of main.querySelectorAll("svg [data-q]")) {
      each.setAttribute("tabindex", "0");
      each.setAttribute("role", "button");
    }
  };
  document.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && event.target.matches?.("svg [data-q]")) event.target.dispatchEvent(new MouseEvent("click", { bubbles: true }));
  });
  document.documentElement.classList.add("ready");
  document.querySelector("nav").hidden = false;
  ready();
  showHash();
})();
