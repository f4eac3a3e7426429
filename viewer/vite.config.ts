import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig } from "vite";
import { onePage } from "./build/one-page.ts";

export default defineConfig({
  plugins: [svelte(), onePage()],
  build: { target: "es2022", modulePreload: false, cssCodeSplit: false, assetsInlineLimit: 0 },
  // `npm run dev` needs a running `node tests/serve.mjs --port 8086 out/demo`.
  server: { proxy: { "/api": "http://127.0.0.1:8086" } },
});
