// Draws the table of traffic as a chart. Without it the table is all there is.
"use strict";
(() => {
  const place = document.getElementById("chart");
  if (!place || typeof uPlot === "undefined") return;
  const columns = { received: 0, sent: 4, delivered: 8 };
  let chart = null;

  const read = () => {
    const data = [[], [], [], []];
    for (const row of document.querySelectorAll("#traffic tbody tr")) {
      const time = row.querySelector("time");
      if (!time) continue;
      const cells = row.querySelectorAll("td");
      data[0].push(new Date(time.dateTime).getTime() / 1000);
      Object.values(columns).forEach((column, i) => data[i + 1].push(Number(cells[column].textContent)));
    }
    return data;
  };

  const clock = (at) => new Date(at * 1000).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  const line = (label, stroke, extra) => ({
    label, value: (self, n) => n ?? "–", stroke: colour(stroke), width: 2, points: { show: false }, ...extra,
  });

  const options = (width) => {
    const axis = {
      stroke: colour("--quiet"), grid: { stroke: colour("--line"), width: 1 }, ticks: { stroke: colour("--line"), width: 1 },
      font: "12px system-ui, sans-serif",
    };
    return {
      width, height: 215, cursor: { y: false },
      scales: { y: { range: (self, low, high) => [0, Math.max(4, high * 1.1)] } },
      axes: [
        { ...axis, values: (self, ticks) => ticks.map(clock) },
        { ...axis, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5, 1e6, 1e7], size: 56 },
      ],
      series: [
        { label: "Minute", value: (self, at) => at == null ? "–" : clock(at) },
        line("received", "--chart-in"),
        line("sent", "--chart-out"),
        line("delivered", "--chart-done", { dash: [4, 3] }),
      ],
    };
  };

  const draw = () => {
    const data = read();
    if (data[0].length < 2) return;
    place.hidden = false;
    chart?.destroy();
    chart = new uPlot(options(place.clientWidth), data, place);
  };

  draw();
  document.addEventListener("weir:refreshed", () => chart ? chart.setData(read()) : draw());
  new ResizeObserver(() => chart?.setSize({ width: place.clientWidth, height: 215 })).observe(place);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
})();
