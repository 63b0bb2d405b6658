// Makes pages that already work pleasanter: times in the reader's zone,
// countdowns, and parts marked data-live brought up to date.
"use strict";
(() => {
  const refreshEvery = 3000;
  const zone = new Intl.DateTimeFormat(undefined, {
    year: "numeric", month: "2-digit", day: "2-digit",
    hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23",
  });
  const zoneName = zone.resolvedOptions().timeZone;

  // span writes milliseconds in their two largest units, as the server does.
  const span = (milliseconds) => {
    const units = [["d", 86400], ["h", 3600], ["min", 60], ["s", 1]];
    let rest = Math.floor(milliseconds / 1000);
    const parts = [];
    for (const [name, length] of units) {
      const n = Math.floor(rest / length);
      rest -= n * length;
      if (n > 0) parts.push(`${n} ${name}`);
      else if (parts.length > 0) break;
      if (parts.length === 2) break;
    }
    return parts.join(" ");
  };

  const relative = (at) => {
    const away = at - Date.now();
    if (away >= 1000) return `in ${span(away)}`;
    return away > -1000 ? "now" : `${span(-away)} ago`;
  };

  const localise = (root) => {
    for (const time of root.querySelectorAll("time[datetime]:not([data-relative])")) {
      time.textContent = zone.format(new Date(time.dateTime));
    }
    tick(root);
  };

  // The fields of filters hold UTC for the server. Here they hold times as the
  // page shows them, and are turned into UTC when they are sent.
  const fieldOf = (iso) => iso.replace(/(:00)?(\.000)?Z?$/, "");
  const toLocal = (text) => {
    const at = new Date(/Z$|[+-]\d\d:\d\d$|^[\d-]*$/.test(text) ? text : `${text}Z`);
    if (Number.isNaN(at.getTime())) return text;
    return fieldOf(new Date(at.getTime() - at.getTimezoneOffset() * 60000).toISOString());
  };
  const toUTC = (text) => {
    const at = new Date(text);
    return Number.isNaN(at.getTime()) ? text : fieldOf(at.toISOString());
  };
  const localiseFields = () => {
    for (const name of document.querySelectorAll("[data-zone]")) name.textContent = zoneName;
    for (const field of document.querySelectorAll("input[data-utc]")) {
      field.value = toLocal(field.getAttribute("value"));
      field.form.addEventListener("formdata", ({ formData }) => formData.set(field.name, toUTC(field.value)));
    }
    const note = document.getElementById("zone");
    if (note) note.textContent = ` · times are in ${zoneName}`;
  };

  const tick = (root) => {
    for (const time of root.querySelectorAll("time[data-relative]")) {
      const text = relative(new Date(time.dateTime));
      if (time.textContent !== text) time.textContent = text;
    }
  };

  // served remembers each live part as the server last sent it, because the
  // page's own copy has local times.
  const served = new Map();
  const remember = (root) => {
    for (const part of root.querySelectorAll("[data-live][id]")) served.set(part.id, part.outerHTML);
  };

  // replace puts a part's new state in, and keeps what the reader has opened
  // and where the keyboard is.
  const replace = (old, fresh) => {
    for (const details of old.querySelectorAll("details[id]")) {
      const same = fresh.querySelector(`#${CSS.escape(details.id)}`);
      if (same) same.open = details.open;
    }
    const focused = old.contains(document.activeElement) ? document.activeElement.id : "";
    localise(fresh);
    old.replaceWith(fresh);
    if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
  };

  // busy reports that replacing the part would take something from the reader:
  // the place of the keyboard, or a selection.
  const busy = (part) => {
    const active = document.activeElement;
    if (part.contains(active) && active !== part && !active.id) return true;
    const selection = getSelection();
    return !selection.isCollapsed && part.contains(selection.anchorNode);
  };

  const apply = (page) => {
    document.title = page.title;
    for (const fresh of page.querySelectorAll("[data-live][id]")) {
      const old = document.getElementById(fresh.id);
      const html = fresh.outerHTML;
      if (!old || served.get(fresh.id) === html || busy(old)) continue;
      served.set(fresh.id, html);
      replace(old, document.adoptNode(fresh));
    }
    document.dispatchEvent(new CustomEvent("weir:refreshed"));
  };

  const note = (text) => {
    const fresh = document.getElementById("fresh");
    if (fresh) fresh.textContent = text;
  };

  // The body of an event does not change, so it is not asked for again.
  const address = () => {
    const here = new URL(location.href);
    here.searchParams.delete("body");
    return here;
  };

  const refresh = async () => {
    if (document.visibilityState !== "visible") return;
    try {
      const answer = await fetch(address(), { credentials: "same-origin", signal: AbortSignal.timeout(10000) });
      if (answer.redirected) {
        location.reload();
        return;
      }
      if (!answer.ok) throw new Error(String(answer.status));
      apply(new DOMParser().parseFromString(await answer.text(), "text/html"));
      note(` · live, last at ${zone.format(new Date())}`);
    } catch {
      note(" · cannot be refreshed now, trying again");
    }
  };

  // A sentence about a change is not repeated when the page is loaded again.
  if (new URL(location.href).searchParams.has("done")) {
    const clean = new URL(location.href);
    clean.searchParams.delete("done");
    history.replaceState(null, "", clean);
  }
  remember(document);
  localise(document);
  localiseFields();
  setInterval(() => tick(document), 500);
  if (served.size === 0) return;
  const loop = async () => {
    await refresh();
    setTimeout(loop, refreshEvery);
  };
  setTimeout(loop, refreshEvery);
})();
