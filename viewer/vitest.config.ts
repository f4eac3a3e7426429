import { defineConfig } from "vitest/config";

// One file at a time: frames are counted, and two cores are all there is.
export default defineConfig({ test: { fileParallelism: false, testTimeout: 30_000, hookTimeout: 60_000 } });
