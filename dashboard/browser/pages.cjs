// Uses the dashboard of a running weir in Chromium, as an operator would, and
// ends with status 1 at the first thing that is not as it should be. The test
// in browser_test.go starts everything and says in the environment where it is:
//
//   PAGES       the address of weir, with a source "open" that takes anything
//   TOKEN       the operator's token
//   DOWNSTREAM  the downstream; POST to /mode/{fine,limit,reject} changes it
//   CHROMIUM    the browser's program
//   SHOTS       a folder for screenshots; none are made where it is empty
"use strict";
const assert = require("node:assert/strict");
const { chromium } = require("playwright-core");

const { PAGES, TOKEN, DOWNSTREAM, CHROMIUM, SHOTS } = process.env;
const wait = { timeout: 20000 };
const hostile = `<script>window.harmed = 1</script><img src=x onerror="window.harmed = 1"></pre><svg onload="window.harmed = 1">\u202e`;

const step = (text) => console.log(`browser: ${text}`);
const downstream = async (mode) => {
  const answer = await fetch(`${DOWNSTREAM}/mode/${mode}`, { method: "POST" });
  assert.equal(answer.status, 200);
};
const send = async (key, body, header = {}) => {
  const answer = await fetch(`${PAGES}/hooks/open`, { method: "POST", body, headers: { "X-Key": key, ...header } });
  assert.equal(answer.status, 200);
  return (await answer.json()).id;
};

// watched opens a page and collects what must not happen on it.
const watched = async (browser, options) => {
  const context = await browser.newContext({ viewport: { width: 1200, height: 900 }, timezoneId: "Asia/Tokyo", locale: "en-GB", ...options });
  const page = await context.newPage();
  const faults = [];
  page.on("pageerror", (error) => faults.push(`error: ${error.message}`));
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) faults.push(`console: ${message.text()}`);
  });
  page.on("dialog", (dialog) => { faults.push(`dialog: ${dialog.message()}`); dialog.dismiss(); });
  page.on("request", (request) => {
    if (!request.url().startsWith(PAGES) && !request.url().startsWith("data:")) faults.push(`request to ${request.url()}`);
  });
  page.on("response", (response) => {
    if (!response.headers()["content-security-policy"]) faults.push(`no policy: ${response.url()}`);
  });
  await page.exposeFunction("violated", (what) => faults.push(`violation: ${what}`));
  await page.addInitScript(() => document.addEventListener("securitypolicyviolation",
    (event) => window.violated(`${event.violatedDirective} ${event.blockedURI}`)));
  return { context, page, faults };
};

const login = async (page) => {
  await page.goto(`${PAGES}/`);
  assert.equal(new URL(page.url()).pathname, "/login");
  // The field has the keyboard by itself, as soon as the browser gets to that.
  await page.waitForFunction(() => document.activeElement?.matches("input[type=password]"), null, wait);
  await page.keyboard.type(TOKEN);
  await page.keyboard.press("Enter");
  await page.waitForURL(`${PAGES}/`, wait);
};

const shot = async (page, name, options = { fullPage: true }) => {
  if (SHOTS) await page.screenshot({ path: `${SHOTS}/${name}.png`, ...options });
};

// row waits until the first destination on the overview says something.
const row = (page, text) => page.waitForFunction(
  (wanted) => document.querySelector("#overview-destinations tbody tr")?.textContent.includes(wanted), text, wait);

// delivered waits until the overview has counted so many deliveries.
const delivered = (page, count) => page.waitForFunction(
  (wanted) => new RegExp(`delivered\\s*${wanted}\\b`).test(document.querySelector("main").innerText), count, wait);

const wrongToken = async (browser) => {
  step("a wrong token opens nothing");
  const { context, page } = await watched(browser);
  await page.goto(`${PAGES}/dead`);
  await page.fill("#token", "not the token of this service");
  await page.click("button.primary");
  await page.waitForSelector("[role=alert]", wait);
  assert.deepEqual(await context.cookies(), []);
  await page.fill("#token", TOKEN);
  await page.click("button.primary");
  await page.waitForURL(`${PAGES}/dead`, wait);
  await context.close();
};

const session = async ({ context, page }) => {
  step("log in by keyboard; the cookie is out of reach of scripts");
  await login(page);
  const [cookie] = await context.cookies();
  assert.equal(cookie.httpOnly, true);
  assert.equal(cookie.sameSite, "Strict");
  assert.ok(cookie.expires > Date.now() / 1000, "the cookie must expire");
  assert.equal(await page.evaluate(() => document.cookie), "");
  await page.waitForSelector("#chart canvas", wait);
  const time = page.locator("#traffic tbody tr:last-child time");
  const hour = Number((await time.getAttribute("title")).slice(11, 13));
  assert.match(await time.getAttribute("title"), /UTC$/);
  assert.match(await time.textContent(), new RegExp(`, ${String((hour + 9) % 24).padStart(2, "0")}:`));
};

const hold = async ({ page }) => {
  step("a hold appears, counts down and ends, without a reload");
  await page.evaluate(() => { window.sameDocument = true; });
  for (let i = 0; i < 24; i++) await send(`order ${i}`, `{"order":${i}}`);
  await row(page, "Ready");
  await delivered(page, 24);
  await downstream("limit");
  for (let i = 0; i < 5; i++) await send(`late order ${i}`, `{"order":${i}}`);
  await send("held", "one that waits");
  await row(page, "Held");
  await row(page, "it asked us to back off");
  await page.waitForFunction(() => document.title.startsWith("Waiting"), null, wait);
  const next = () => page.locator("#overview-destinations [data-label='Next request']").first().textContent();
  const first = await next();
  await page.waitForFunction((before) => document.querySelector("#overview-destinations [data-label='Next request']").textContent !== before, first, wait);
  // The picture of the README: docs/images/dashboard.png.
  await shot(page, "dashboard", { clip: { x: 0, y: 0, width: 1200, height: 815 } });
  await downstream("fine");
  await row(page, "Ready");
  await delivered(page, 30);
  assert.equal(await page.evaluate(() => window.sameDocument), true);
};

const repair = async ({ page }) => {
  step("a dead letter with a hostile payload and header is shown harmlessly and redelivered");
  await downstream("reject");
  const id = await send(`key ${"<b>"}`, hostile, { "X-Hostile": "\"><script>window.harmed = 1</script>", "Content-Type": "text/html" });
  await row(page, "Ready");
  await page.waitForFunction(() => document.querySelector("#overview-destinations [data-label=Dead]").textContent === "1", null, wait);
  await page.goto(`${PAGES}/events?q=${encodeURIComponent("key <b>")}`);
  await page.click("#events tbody a");
  await page.waitForURL(`${PAGES}/events/${id}`, wait);
  await shot(page, "event-hostile");
  assert.ok((await page.textContent("#body")).startsWith("<script>window.harmed"));
  assert.ok((await page.textContent("#body")).includes("\\u202e"));
  assert.ok((await page.textContent("#header")).includes("\"><script>window.harmed = 1</script>"));
  assert.ok((await page.textContent("#to-default")).includes("<script>window.harmed = 2</script>"), "the answer of the downstream");
  assert.equal(await page.evaluate(() => document.querySelectorAll("main img, main svg, main script").length), 0);
  assert.equal(await page.evaluate(() => window.harmed), undefined);

  await downstream("fine");
  await page.click("nav >> text=Dead letters");
  await page.click("text=Redeliver all of them");
  assert.match(await page.textContent("h1"), /Redeliver 1 delivery\?/);
  await page.click("button.primary");
  assert.match(await page.textContent("[role=status]"), /on its way/);
  await page.goto(`${PAGES}/events/${id}`);
  await page.waitForSelector("#to-default .state.good", wait);
  assert.match(await page.textContent("#to-default"), /Attempt 2: Delivered \(200\)/);
};

const single = async ({ page }) => {
  step("one delivery is redelivered from its own page");
  await downstream("reject");
  const id = await send("single", "{}");
  await page.goto(`${PAGES}/events/${id}`);
  await page.waitForSelector("#redeliver-default", wait);
  await downstream("fine");
  await page.focus("#redeliver-default");
  await page.keyboard.press("Enter");
  await page.waitForSelector("#to-default .state.good", wait);
};

const zones = async ({ page }) => {
  step("a shown time, put into the filter, finds its event");
  const id = await send("zoned", "{}");
  await page.goto(`${PAGES}/events`);
  assert.match(await page.textContent("footer"), /times are in Asia\/Tokyo/);
  assert.equal(await page.textContent("label.when"), "From (Asia/Tokyo) ");
  const shown = await page.locator("#events tbody tr").first().locator("time").first().textContent();
  const [, day, month, year, minute] = shown.match(/^(\d\d)\/(\d\d)\/(\d{4}), (\d\d:\d\d)/);
  const local = `${year}-${month}-${day}T${minute}`;
  await page.fill("input[name=since]", local);
  await page.click("form.filters button");
  await page.waitForURL(/since=2/, wait);
  const sent = new URL(page.url()).searchParams;
  assert.equal(new Date(`${sent.get("since")}Z`).getTime(), new Date(`${local}+09:00`).getTime());
  assert.equal(sent.get("until"), "");
  assert.equal(await page.inputValue("input[name=since]"), local);
  assert.ok((await page.textContent("#events")).includes(id));
};

const keyboard = async ({ page }) => {
  step("the keyboard reaches the content first");
  await page.goto(`${PAGES}/events`);
  await page.keyboard.press("Tab");
  assert.equal(await page.evaluate(() => document.activeElement.className), "skip");
  await page.keyboard.press("Enter");
  assert.equal(await page.evaluate(() => document.activeElement.id), "main");
};

const everyPage = async (browser, name, options) => {
  step(`every page fits: ${name}`);
  const { context, page, faults } = await watched(browser, options);
  await login(page);
  for (const path of ["/", "/events", "/destinations", "/dead"]) {
    await page.goto(PAGES + path);
    await shot(page, `${name}${path.replace("/", "-")}`);
    const [needs, has] = await page.evaluate(() => [document.documentElement.scrollWidth, document.documentElement.clientWidth]);
    assert.ok(needs <= has, `${path} is ${needs} wide on a screen of ${has}`);
  }
  assert.deepEqual(faults, []);
  await context.close();
};

const withoutScripts = async (browser) => {
  step("without scripts: figures, pause and resume");
  const context = await browser.newContext({ javaScriptEnabled: false });
  const page = await context.newPage();
  await page.goto(`${PAGES}/`);
  await page.fill("#token", TOKEN);
  await page.click("button.primary");
  await page.click("summary");
  assert.ok(await page.locator("#traffic tbody tr").count() >= 2);
  assert.match(await page.locator("#traffic time").first().textContent(), /UTC$/);
  await page.click("nav >> text=Events");
  assert.equal(await page.textContent("label.when"), "From (UTC) ");
  await page.click("nav >> text=Destinations");
  await page.click("#pause-default");
  assert.match(await page.textContent("#default"), /Paused/);
  await page.click("#resume-default");
  assert.match(await page.textContent("[role=status]"), /Resumed/);
  assert.match(await page.textContent("#default"), /Ready/);
  await context.close();
};

const logout = async ({ page }) => {
  step("log out");
  await page.goto(`${PAGES}/`);
  await page.click("text=Log out");
  await page.waitForURL(`${PAGES}/login`, wait);
  await page.goto(`${PAGES}/events`);
  assert.equal(new URL(page.url()).pathname, "/login");
};

(async () => {
  const browser = await chromium.launch({
    executablePath: CHROMIUM,
    args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
      "--disable-background-networking", "--disable-component-update", "--disable-sync"],
  });
  try {
    await wrongToken(browser);
    const visit = await watched(browser);
    for (const part of [session, hold, repair, single, zones, keyboard]) await part(visit);
    await everyPage(browser, "light", { colorScheme: "light" });
    await everyPage(browser, "dark", { colorScheme: "dark" });
    await everyPage(browser, "phone", { viewport: { width: 360, height: 740 }, hasTouch: true });
    await withoutScripts(browser);
    await logout(visit);
    assert.deepEqual(visit.faults, []);
    step("all is as it should be");
  } finally {
    await browser.close();
  }
})().catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
