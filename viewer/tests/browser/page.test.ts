import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { quantity, rate } from "../../src/lib/format.ts";
import { makeDumbbell } from "../dumbbell.ts";
import { serve } from "../serve.mjs";
import { expected, sample, serveTwo } from "./fixture.ts";
import { drawn, open, time } from "./harness.ts";

const EVIL = `<img src=x onerror="window.ran=1">`;

const served = serveTwo();

describe("the page", () => {
  it("opens a record without requests to other servers", async () => {
    const { page, complaints, close } = await open(served.browser, served.url);
    await page.locator('[data-chart="throughput_bps of flows"]').waitFor();
    expect(await page.title()).toBe("one – Headway");
    for (const panel of ["Findings", "Animation", "Flows", "Time series", "Send queue", "Frames"])
      expect(await page.getByRole("heading", { name: panel, exact: true }).count(), panel).toBe(1);
    expect(complaints).toEqual([]);
    await close();
  });

  it("shows the values of the summary for each flow", async () => {
    const { page, close } = await open(served.browser, served.url);
    for (const flow of served.one.summary.flows)
      expect(await page.locator(`[data-flow="${flow.name}"] [data-column=throughput_bps]`).textContent()).toBe(
        rate(flow.throughput_bps),
      );
    expect(await page.locator("#frames [data-kind=audio] td").allTextContents()).toEqual(
      expect.arrayContaining(["100", "90", "7", "3"]),
    );
    expect(await page.locator("#send-queue [data-kind=audio] td").allTextContents()).toEqual(
      expect.arrayContaining(["520", "500", "6"]),
    );
    await close();
  });

  it("shows findings first, each with a link to its time", async () => {
    const { page, complaints, close } = await open(served.browser, served.url);
    expect(await page.locator("main h2").first().textContent()).toBe("Findings");
    await page.getByRole("link", { name: "Problem, 1.5 to 2.0 s, media" }).click();
    await expect.poll(() => time(page)).toBe(1.5);
    expect(page.url()).toMatch(/#.*t=1\.5/);
    expect(page.url()).toContain("flow=media");
    expect(await page.locator("#flows tr.chosen").getAttribute("data-flow")).toBe("media");
    expect(complaints).toEqual([]);
    await close();
  });

  it("marks findings by shape and word, for flows, links and the whole run", async () => {
    const { page, close } = await open(served.browser, `${served.url}&flow=media`);
    const texts = await page.locator("#findings li").allTextContents();
    expect(texts.map((text) => text.replace(/\s+/g, " ").trim())).toEqual([
      "▲ Problem, 1.5 to 2.0 s, media: lost packets at a full queue.",
      "● Note, 0.0 to 4.0 s, west->east: was the bottleneck.",
      "● Note, at 3.5 s: all queues were empty.",
    ]);
    await page.getByRole("link", { name: "Note, at 3.5 s" }).click();
    await expect.poll(() => time(page)).toBe(3.5);
    // The finding has no flow: no flow is selected.
    await expect.poll(() => page.locator("#flows tr.chosen").count()).toBe(0);
    await close();
  });

  it("opens the place in the address and updates the address", async () => {
    const { page, close } = await open(served.browser, `${served.both}#t=2.25&flow=ftp-1&record=1&zoom=2~3`);
    expect(await time(page)).toBe(2.25);
    expect(await page.title()).toBe("two – Headway");
    expect(await page.locator("#flows tr.chosen").getAttribute("data-flow")).toBe("ftp-1");
    await page.keyboard.press("End");
    await expect.poll(() => page.url()).toMatch(/t=4(&|$)/);
    await close();
  });

  it("goes to a new address even if the page overwrites it", async () => {
    const { page, close } = await open(served.browser, `${served.url}&t=2`);
    await page.evaluate(() => {
      location.hash = "#t=1.5";
      history.replaceState(null, "", "#t=2");
    });
    await expect.poll(() => time(page)).toBe(1.5);
    await close();
  });

  it("draws the samples of the record", async () => {
    const { page, close } = await open(served.browser, `${served.url}&t=1.234`);
    for (const flow of ["media", "ftp-1"]) {
      const shown = page.locator(`[data-chart="throughput_bps of flows"] [data-value="${flow}"]`);
      await expect
        .poll(() => shown.textContent())
        .toBe(quantity(sample(served.one, flow, "throughput_bps", 1.234), "b/s"));
    }
    const queue = page.locator(`[data-chart="queue_packets of links"] [data-value="west->east"]`);
    expect(await queue.textContent()).toBe(String(sample(served.one, "west->east", "queue_packets", 1.234)));
    await close();
  });

  it("counts the lost packets by cause, of the selected flow or of all flows", async () => {
    const drops = served.one.events.filter(({ event, time_s }) => event === "drop" && time_s <= 2.5);
    const ofMedia = drops.filter(({ flow }) => flow === "media").length;
    expect(ofMedia).toBeGreaterThan(0);
    expect(drops.length).toBeGreaterThan(ofMedia);
    const { page, complaints, close } = await open(served.browser, `${served.url}&t=2.5`);
    const lost = page.locator('[data-chart="lost packets by cause"] [data-value="queue full"]');
    await expect.poll(() => lost.textContent()).toBe(String(drops.length));
    await page.getByRole("button", { name: "media" }).first().click();
    await expect.poll(() => lost.textContent()).toBe(String(ofMedia));
    expect(complaints).toEqual([]);
    await close();
  });

  it("shows the packet numbers of the selected flow, or of the first one", async () => {
    const { page, complaints, close } = await open(served.browser, `${served.url}&t=2.5`);
    const chart = page.locator('[data-chart="packet numbers"]');
    for (const flow of [served.one.summary.flows[0].name, "media"]) {
      if (flow === "media") await page.getByRole("button", { name: "media" }).first().click();
      await expect.poll(() => chart.locator("h3").textContent()).toBe(`Packet number over time of ${flow}`);
      const own = served.one.hops.filter((hop) => served.one.summary.flows[hop.flow].name === flow);
      const sent = own.filter(({ offered, link }) => link === own[0].link && offered <= 2.5e9);
      const last = sent.at(-1)!.sequence - sent[0].sequence;
      // Of marks in one cell of the chart, the first is shown.
      await expect
        .poll(async () => Math.abs(Number(await chart.locator('[data-value="sent"]').textContent()) - last))
        .toBeLessThanOrEqual(Math.max(2, last / 50));
    }
    expect(complaints).toEqual([]);
    await close();
  });

  it("counts the lost packets by cause of each run", async () => {
    const { page, close } = await open(served.browser, `${served.both}#t=4`);
    for (const [name, { events }] of [["one", served.one] as const, ["two", served.two] as const])
      await expect
        .poll(() => page.locator(`[data-value="queue full in ${name}"]`).textContent())
        .toBe(String(events.filter(({ event }) => event === "drop").length));
    await close();
  });

  it("draws every packet where the record has it", async () => {
    const { page, close } = await open(served.browser, `${served.url}&t=0.5&speed=0.02`);
    for (const at of [0.5, 1.0001, 2.345678, 3.9]) {
      await page.evaluate((t) => (location.hash = `#t=${t}`), at);
      await expect.poll(() => drawn(page), { message: `at ${at} s` }).toEqual(expected(served.one, at, 0.02));
    }
    // Check that the canvas is not empty.
    const colored = await page
      .locator("#topology canvas")
      .nth(1)
      .evaluate((canvas: HTMLCanvasElement) => {
        const { data } = canvas.getContext("2d")!.getImageData(0, 0, canvas.width, canvas.height);
        return data.some((value, i) => i % 4 === 3 && value > 0);
      });
    expect(colored).toBe(true);
    await close();
  });

  it("colors packets by their flow and fades those of other flows", async () => {
    const { page, close } = await open(served.browser, `${served.url}&t=1.0001`);
    await drawn(page);
    // Count pixels with exactly this color, not faded.
    const full = (red: number, green: number, blue: number) =>
      page
        .locator("#topology canvas")
        .nth(1)
        .evaluate(
          (canvas: HTMLCanvasElement, [r, g, b]) => {
            const { data } = canvas.getContext("2d")!.getImageData(0, 0, canvas.width, canvas.height);
            let found = 0;
            for (let i = 0; i < data.length; i += 4)
              if (data[i] === r && data[i + 1] === g && data[i + 2] === b && data[i + 3] === 255) found++;
            return found;
          },
          [red, green, blue],
        );
    const media = () => full(0x00, 0x72, 0xb2);
    const ftp = () => full(0xe6, 0x9f, 0x00);
    expect(await media()).toBeGreaterThan(20);
    expect(await ftp()).toBeGreaterThan(20);
    await page.getByRole("button", { name: "ftp-1" }).first().click();
    await expect.poll(media).toBe(0);
    expect(await ftp()).toBeGreaterThan(20);
    await close();
  });

  it("goes to the next packet", async () => {
    const { page, close } = await open(served.browser, `${served.url}&t=1`);
    await drawn(page);
    await page.getByRole("button", { name: "Next packet" }).click();
    const next = served.one.hops.find((hop) => hop.offered >= 1e9 + 1000)!.offered / 1e9;
    await expect.poll(() => time(page)).toBeCloseTo(next, 3);
    expect(await page.locator("[data-packet]").textContent()).toContain(`since ${next.toFixed(6)} s`);
    await close();
  });

  it("has the details of the packet at the pointer, and keeps those of a click", async () => {
    const { page, close } = await open(served.browser, `${served.url}&t=1.0001`);
    await drawn(page);
    const details = page.locator("[data-packet]");
    const stage = page.locator("#topology canvas").nth(1);
    const at = await stage.evaluate(async (canvas) => {
      const { left, top, right, bottom } = canvas.getBoundingClientRect();
      const shown = () => /since/.test(document.querySelector("[data-packet]")!.textContent!);
      for (let y = top; y < bottom; y += 6)
        for (let x = left; x < right; x += 6) {
          canvas.dispatchEvent(new PointerEvent("pointermove", { clientX: x, clientY: y, bubbles: true }));
          await new Promise((done) => setTimeout(done, 0));
          if (shown()) return { x, y };
        }
      return null;
    });
    // The first position within reach is up and left of the packet.
    await page.mouse.move(at!.x + 3, at!.y + 3);
    const [, flow, kind, sequence, bytes, since] = (await details.textContent())!.match(
      /(\S+) (\S+) (\d+), (\d+) B: at \S+ since ([\d.]+) s/,
    )!;
    expect(
      served.one.hops.some(
        (hop) =>
          hop.sequence === Number(sequence) &&
          hop.bytes === Number(bytes) &&
          served.one.meta.flows[hop.flow] === flow &&
          served.one.meta.kinds[hop.kind] === kind &&
          Math.abs(hop.offered / 1e9 - Number(since)) < 1e-6,
      ),
    ).toBe(true);
    const text = await details.textContent();
    await page.mouse.click(at!.x + 3, at!.y + 3);
    await page.mouse.move(0, 0);
    expect(await details.textContent()).toBe(text);
    await close();
  });

  it("plays in slow motion, pauses, scrubs and changes its speed", async () => {
    const { page, complaints, close } = await open(served.browser, `${served.url}&t=1`);
    await drawn(page);
    const started = performance.now();
    await page.keyboard.press("Space");
    await expect.poll(() => time(page)).toBeGreaterThan(1.005);
    await page.keyboard.press("Space");
    const watched = (performance.now() - started) / 1000;
    const paused = await time(page);
    // A hop of 10 ms takes most of a second: 1.5 s of playback are about 20 ms of the run.
    expect(paused - 1).toBeLessThan(0.0201 * watched);
    await page.waitForTimeout(300);
    expect(await time(page)).toBe(paused);
    await page.getByRole("slider", { name: "Time" }).fill("2.5");
    expect(await time(page)).toBe(2.5);
    await page.getByRole("combobox", { name: "Speed" }).selectOption("1");
    await page.getByRole("button", { name: "Play" }).click();
    await expect.poll(() => time(page)).toBeGreaterThan(2.9);
    expect(complaints).toEqual([]);
    await close();
  });

  it("stops at the end and restarts from the beginning", async () => {
    const { page, close } = await open(served.browser, `${served.url}&t=3.9&speed=1`);
    await page.keyboard.press("Space");
    await expect.poll(() => page.getByRole("button", { name: "Play" }).count()).toBe(1);
    expect(await time(page)).toBe(4);
    await page.keyboard.press("Space");
    await expect.poll(() => time(page)).toBeLessThan(2);
    await close();
  });

  it("zooms all curves together", async () => {
    const { page, close } = await open(served.browser, served.url);
    const chart = page.locator('[data-chart="throughput_bps of flows"] .u-over');
    const { x, y, width, height } = (await chart.boundingBox())!;
    await page.mouse.move(x + width * 0.25, y + height / 2);
    await page.mouse.down();
    await page.mouse.move(x + width * 0.5, y + height / 2, { steps: 4 });
    await page.mouse.up();
    await expect.poll(() => decodeURIComponent(page.url())).toMatch(/zoom=(0\.9\d*|1(\.0\d*)?)~(1\.9\d*|2(\.0\d*)?)/);
    await page.getByRole("button", { name: "Show all" }).click();
    await expect.poll(() => page.url()).not.toContain("zoom");
    await page.mouse.click(x + width * 0.75, y + height / 2);
    await expect.poll(() => time(page)).toBeCloseTo(3, 1);
    await close();
  });

  it("shows the time of the pointer in all charts", async () => {
    const { page, complaints, close } = await open(served.browser, served.url);
    for (const chart of ["throughput_bps of flows", "queue_packets of links", "lost packets by cause"])
      await page.locator(`[data-chart="${chart}"]`).waitFor();
    // The time of each chart's cursor as a part of its time axis, rounded to a hundredth, or null without a cursor.
    const areas = page.locator("[data-chart] .u-over");
    const cursors = () =>
      areas.evaluateAll((all) =>
        all.map((area) => {
          const cursor = area.querySelector(".u-cursor-x")!;
          if (getComputedStyle(cursor).display === "none") return null;
          const px = cursor.getBoundingClientRect().left - area.getBoundingClientRect().left;
          return Math.round((100 * px) / area.clientWidth) / 100;
        }),
      );
    const inAll = (part: number | null) => Array.from({ length: count }, () => part);
    const count = await areas.count();
    expect(await cursors()).toEqual(inAll(null));
    // Charts of different widths share the time, not the position.
    await page.locator('[data-chart="queue_packets of links"]').evaluate((chart) => (chart.style.width = "70%"));
    const { width, height } = (await areas.first().boundingBox())!;
    for (const part of [0.25, 0.75]) {
      await areas.first().hover({ position: { x: width * part, y: height / 2 } });
      await expect.poll(cursors).toEqual(inAll(part));
    }
    await page.locator("h1").hover();
    await expect.poll(cursors).toEqual(inAll(null));
    expect(complaints).toEqual([]);
    await close();
  });

  it("shows two runs in the same charts", async () => {
    const { page, complaints, close } = await open(served.browser, `${served.both}#t=2`);
    expect(await page.locator("#flows [data-flow=media]").count()).toBe(2);
    const values = page.locator('[data-chart="throughput_bps of flows"] [data-value]');
    await expect.poll(() => values.count()).toBe(4);
    expect(await page.locator('[data-value="media in two"]').first().textContent()).toBe(
      quantity(sample(served.two, "media", "throughput_bps", 2), "b/s"),
    );
    const speed = Number(await page.getByRole("combobox", { name: "Speed" }).inputValue());
    await expect.poll(() => drawn(page, "0")).toEqual(expected(served.one, 2, speed));
    await expect.poll(() => drawn(page, "1")).toEqual(expected(served.two, 2, speed));
    expect(await page.getByText("Between these runs").count()).toBe(0);
    await page.locator(".runs summary").click();
    await page.getByRole("checkbox", { name: "one" }).uncheck();
    await expect.poll(() => page.title()).toBe("two – Headway");
    expect(complaints).toEqual([]);
    await close();
  });

  it("shows findings between runs while several runs are selected", async () => {
    const text = "media of two was smoother than media of one";
    const between = [{ time_from_s: 1, time_to_s: 3, severity: "note", subject: "media", text }];
    const other = await serve([served.one.folder, served.two.folder], { between });
    // The order is that of the command, without duplicates, regardless of the address.
    const { page, complaints, close } = await open(served.browser, `${other.url}#record=1&record=0&record=1`);
    const list = page.getByRole("list", { name: "Findings between these runs" });
    expect(await list.innerText()).toContain(text);
    expect(await page.title()).toBe("one, two – Headway");
    await list.getByRole("link", { name: "Note, 1.0 to 3.0 s, media" }).click();
    await expect.poll(() => time(page)).toBe(1);
    expect(await page.locator("#flows tr.chosen").count()).toBe(2);
    // Keys also go to this finding after all findings are loaded.
    await page.getByRole("list", { name: "Findings of two" }).waitFor();
    await page.keyboard.press("n");
    await page.keyboard.press("p");
    expect(await time(page)).toBe(1);
    await page.locator(".runs summary").click();
    await page.getByRole("checkbox", { name: "two" }).uncheck();
    await expect.poll(() => list.count()).toBe(0);
    expect(complaints).toEqual([]);
    await close();
    await other.close();
  });

  it("numbers runs with the same name", async () => {
    const other = await serve([served.one.folder, makeDumbbell(join(served.folder, "again", "one")).folder]);
    const { page, complaints, close } = await open(served.browser, `${other.url}#record=0&record=1`);
    await page.locator(`[data-value="media in one (2)"]`).first().waitFor();
    expect(await page.title()).toBe("one (1), one (2) – Headway");
    expect(complaints).toEqual([]);
    await close();
    await other.close();
  });

  it("saves values and pictures", async () => {
    const { page, close } = await open(served.browser, served.url);
    const chart = page.locator('[data-chart="throughput_bps of flows"]');
    const [numbers] = await Promise.all([
      page.waitForEvent("download"),
      chart.getByRole("button", { name: /CSV/ }).click(),
    ]);
    const rows = readFileSync(await numbers.path(), "utf8")
      .trim()
      .split("\n");
    expect(rows[0]).toBe("time_s,media,ftp-1");
    expect(rows).toHaveLength(41);
    expect(rows[12]).toBe(
      `1.2,${sample(served.one, "media", "throughput_bps", 1.2)},${sample(served.one, "ftp-1", "throughput_bps", 1.2)}`,
    );
    const [picture] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Save picture" }).click(),
    ]);
    expect(picture.suggestedFilename()).toBe("one-network.png");
    expect(
      readFileSync(await picture.path())
        .subarray(1, 4)
        .toString(),
    ).toBe("PNG");
    await close();
  });

  it("saves a chart as PNG with its title, axis titles and legend", async () => {
    const { page, complaints, close } = await open(served.browser, served.url);
    const [picture] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Save Throughput of flows as PNG" }).click(),
    ]);
    expect(picture.suggestedFilename()).toBe("throughput_bps-of-flows.png");
    // Areas in px of the drawing, two pixels each: x, y, width and height.
    const areas = {
      title: [90, 8, 140, 22],
      values: [0, 40, 80, 330],
      "title of the time axis": [450, 395, 80, 20],
      "name of the first flow": [126, 412, 60, 16],
      "name of the second flow": [416, 412, 60, 16],
      "empty corner": [700, 4, 200, 30],
    };
    const inked = await page.evaluate(
      async ({ png, areas }) => {
        const bytes = Uint8Array.from(atob(png), (letter) => letter.charCodeAt(0));
        const image = await createImageBitmap(new Blob([bytes]));
        const to = new OffscreenCanvas(image.width, image.height).getContext("2d", { willReadFrequently: true })!;
        to.drawImage(image, 0, 0);
        const hasInk = ([x, y, width, height]: number[]) =>
          to.getImageData(2 * x, 2 * y, 2 * width, 2 * height).data.some((value, i) => i % 4 !== 3 && value < 128);
        return {
          size: [image.width, image.height],
          areas: Object.keys(areas).filter((name) => hasInk((areas as Record<string, number[]>)[name])),
        };
      },
      { png: readFileSync(await picture.path()).toString("base64"), areas },
    );
    expect(inked.size).toEqual([1920, 880]);
    expect(inked.areas).toEqual(Object.keys(areas).filter((name) => name !== "empty corner"));
    expect(complaints).toEqual([]);
    await close();
  });

  it("prints everything within the width of the paper, without controls", async () => {
    // The printable width of A4 with margins of 10 mm.
    const { page, complaints, close } = await open(served.browser, served.both, {
      width: 718,
      height: 1047,
      dark: true,
    });
    await page.locator('[data-chart="throughput_bps of flows"]').waitFor();
    await page.emulateMedia({ media: "print" });
    await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
    const printed = await page.evaluate(() => {
      const all = [...document.querySelectorAll<HTMLElement>("body *")].filter((one) => one.checkVisibility());
      const named = (chosen: HTMLElement[]) => chosen.map((one) => one.outerHTML.slice(0, 80));
      return {
        wide: named(all.filter((one) => one.getBoundingClientRect().right > innerWidth + 0.5)),
        scrolling: named(all.filter((one) => /auto|scroll/.test(getComputedStyle(one).overflowY))),
        controls: named(all.filter((one) => one.matches(".bar, .tools, input, select"))),
        paper: getComputedStyle(document.body).backgroundColor,
        charts: [...document.querySelectorAll("[data-chart]")].map(
          (chart) => chart.querySelector(".drawing svg")!.clientWidth / chart.clientWidth,
        ),
      };
    });
    expect(printed.charts.length).toBeGreaterThan(2);
    expect(printed).toEqual({
      wide: [],
      scrolling: [],
      controls: [],
      paper: "rgb(255, 255, 255)",
      charts: printed.charts.map(() => 1),
    });
    await page.evaluate(() => dispatchEvent(new Event("afterprint")));
    expect(await page.locator(".drawing").count()).toBe(0);
    expect(complaints).toEqual([]);
    await close();
  });

  it("lists discarded packets with their cause", async () => {
    const { page, close } = await open(served.browser, `${served.url}&t=0.75`);
    const texts = page.locator("#send-queue li");
    await expect
      .poll(() => texts.allTextContents())
      .toEqual([
        "0.700 s: media audio, 160 B: expired, 20 ms late",
        "0.600 s: media audio, 160 B: pushed out, 10 ms late",
        "0.500 s: media audio, 160 B: refused",
      ]);
    await page.evaluate(() => (location.hash = "#flow=ftp-1"));
    await page.getByText("No packets of ftp-1 were discarded").waitFor();
    await close();
  });

  it("never executes names in a record", async () => {
    const evil = makeDumbbell(join(served.folder, "evil"), { names: [EVIL, "${window.ran=1}"] });
    const other = await serve([evil.folder]);
    const { page, complaints, close } = await open(served.browser, `${other.url}#t=1&flow=${encodeURIComponent(EVIL)}`);
    await drawn(page);
    expect(await page.getByRole("button", { name: EVIL }).count()).toBeGreaterThan(0);
    expect(await page.evaluate(() => "ran" in window)).toBe(false);
    // Even if a script were injected, the policy would block it.
    const violation = await page.evaluate(
      () =>
        new Promise((done) => {
          document.addEventListener("securitypolicyviolation", (event) => done(event.violatedDirective));
          const script = document.createElement("script");
          script.textContent = "window.ran = 1";
          document.body.append(script);
        }),
    );
    expect(violation).toMatch(/^script-src/);
    expect(await page.evaluate(() => "ran" in window)).toBe(false);
    expect(complaints.filter((complaint) => !complaint.includes("Content Security Policy"))).toEqual([]);
    await close();
    await other.close();
  });
});
