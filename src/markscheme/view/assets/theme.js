// Before anything is painted: the reader's choice of light or dark, if there is one.
try {
  const theme = localStorage.getItem("markscheme-theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch { /* storage may be forbidden; then the system's choice stands */ }
document.documentElement.dataset.script = "";
