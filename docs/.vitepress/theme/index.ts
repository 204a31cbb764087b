import type { Theme } from "vitepress";
import DefaultTheme from "vitepress/theme";
import { defineAsyncComponent } from "vue";

export default {
  extends: DefaultTheme,
  enhanceApp({ app }) {
    app.component("Diagram", defineAsyncComponent(() => import("./Diagram.vue")));
  },
} satisfies Theme;
