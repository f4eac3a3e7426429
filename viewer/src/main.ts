import { mount } from "svelte";
import App from "./App.svelte";
import { openSource } from "./lib/source.ts";
import { View } from "./lib/view.svelte.ts";
import "uplot/dist/uPlot.min.css";
import "./page.css";

const view = new View(openSource());
mount(App, { target: document.getElementById("page")!, props: { view } });
void view.start();
