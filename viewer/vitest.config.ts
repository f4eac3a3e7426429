import { defineConfig } from "vitest/config";

// Long timeouts, so that tests pass on a busy machine.
export default defineConfig({
  test: {
    maxWorkers: 2,
    maxConcurrency: 2,
    testTimeout: 90_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 20_000 } },
  },
});
