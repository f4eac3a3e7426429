import { defineConfig } from "vitest/config";

// Patience for a machine that is busy with other things: what a test waits for must come, but not soon.
export default defineConfig({
  test: {
    maxWorkers: 2,
    maxConcurrency: 2,
    testTimeout: 90_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 20_000 } },
  },
});
