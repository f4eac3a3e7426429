/** Light or dark theme: the system setting, until the user selects the other one. */
import { flushSync } from "svelte";

export type Theme = "light" | "dark";

/** Colors of canvases. The colors of the page are in page.css. */
export interface Ink {
  text: string;
  faint: string;
  line: string;
  paper: string;
  bad: string;
}

const INKS: Record<Theme, Ink> = {
  light: { text: "#1b1f24", faint: "#57606a", line: "#c9ced6", paper: "#ffffff", bad: "#b34700" },
  dark: { text: "#e8eaed", faint: "#a3abb5", line: "#3d444d", paper: "#15181c", bad: "#ff9a57" },
};

class Look {
  theme = $state<Theme>(matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  /** Whether the page is being printed. Paper is white, so that it has the colors of the light theme. */
  printing = $state(false);
  ink = $derived(INKS[this.printing ? "light" : this.theme]);

  constructor() {
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", (event) =>
      this.set(event.matches ? "dark" : "light"),
    );
    this.set(this.theme);
    // The browser prints the page right after the event.
    addEventListener("beforeprint", () => flushSync(() => (this.printing = true)));
    addEventListener("afterprint", () => (this.printing = false));
  }

  set(theme: Theme): void {
    this.theme = theme;
    document.documentElement.dataset.theme = theme;
  }
}

export const look = new Look();
