/** Light or dark theme: the system setting, until the user selects the other one. */
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
  ink = $derived(INKS[this.theme]);

  constructor() {
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", (event) =>
      this.set(event.matches ? "dark" : "light"),
    );
    this.set(this.theme);
  }

  set(theme: Theme): void {
    this.theme = theme;
    document.documentElement.dataset.theme = theme;
  }
}

export const look = new Look();
