// The frame of the console: its only HTML, its sign, and the colours and layout of the frame.
//
// Served by `ConsoleFile`.

extension ConsoleFile {
    static let index = #"""
        <!doctype html>
        <html lang="en">
        <head>
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <meta name="color-scheme" content="light dark">
        <title>Cumulus console</title>
        <link rel="icon" href="/console/icon.svg" type="image/svg+xml">
        <link rel="stylesheet" href="/console/style.css">
        <link rel="stylesheet" href="/console/parts.css">
        <script type="module" src="/console/app.js"></script>
        </head>
        <body>
        <a class="skip" href="#main">Skip to the content</a>
        <div id="frame"></div>
        <div id="messages" role="status" aria-live="polite"></div>
        <noscript>The console needs JavaScript. The command cumulus does the same.</noscript>
        </body>
        </html>
        """#

    static let icon = #"""
        <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32">
        <rect width="32" height="32" rx="8" fill="#2f6fde"/>
        <path fill="#fff" d="M11 23a5 5 0 0 1-.6-10 6.5 6.5 0 0 1 12.4 1.6A4.3 4.3 0 0 1 22.4 23z"/>
        </svg>
        """#

    static let style = #"""
        :root {
          color-scheme: light dark;
          --bg: #f3f5f8; --card: #ffffff; --sunk: #f7f8fa; --text: #16202c; --muted: #566373;
          --line: #dfe4ea; --accent: #2260cf; --accent-text: #ffffff; --soft: #e8effc;
          --good: #17734a; --good-soft: #e2f4ea; --warn: #835b00; --warn-soft: #fbf0d4;
          --bad: #b3263f; --bad-soft: #fbe7ea; --side: #101c2e; --side-text: #c6d2e2;
          --plot1: #2f6fde; --plot2: #c2571a; --plot3: #17845a;
          --mono: ui-monospace, "SF Mono", "Cascadia Mono", "DejaVu Sans Mono", monospace;
        }
        @media (prefers-color-scheme: dark) {
          :root {
            --bg: #0d1218; --card: #161d26; --sunk: #11171f; --text: #e4eaf1; --muted: #98a6b6;
            --line: #28323f; --accent: #79aefc; --accent-text: #0a1424; --soft: #1b2b45;
            --good: #6fd1a0; --good-soft: #14301f; --warn: #e9bd5b; --warn-soft: #33280f;
            --bad: #ff93a4; --bad-soft: #3a1820; --side: #090d13; --side-text: #aebccd;
            --plot1: #79aefc; --plot2: #f0a35e; --plot3: #6fd1a0;
          }
        }
        * { box-sizing: border-box; }
        html { font: 15px/1.5 system-ui, "Segoe UI", Roboto, "Noto Sans", sans-serif; }
        body { margin: 0; background: var(--bg); color: var(--text); }
        h1 { font-size: 1.6rem; line-height: 1.2; margin: 0; letter-spacing: -0.01em; }
        h2 { font-size: 1.1rem; margin: 0 0 .6rem; }
        h3 { font-size: .95rem; margin: 1.1rem 0 .4rem; }
        p { margin: 0 0 .8rem; }
        a { color: var(--accent); text-underline-offset: .15em; }
        code, pre, .mono { font-family: var(--mono); font-size: .86rem; }
        :focus-visible { outline: 3px solid var(--accent); outline-offset: 2px;
          border-radius: 4px; }
        [tabindex="-1"]:focus-visible { outline: none; }
        .skip { position: absolute; left: -999px; top: 8px; z-index: 9; background: var(--card);
          padding: .5rem 1rem; border-radius: 8px; }
        .skip:focus { left: 8px; }
        .hidden { position: absolute; width: 1px; height: 1px; overflow: hidden;
          clip-path: inset(50%); white-space: nowrap; }
        .muted { color: var(--muted); }
        .small { font-size: .86rem; }

        .frame { display: grid; grid-template-columns: 228px minmax(0, 1fr); min-height: 100vh; }
        .side { background: var(--side); color: var(--side-text); padding: 1.1rem .8rem;
          display: flex; flex-direction: column; position: sticky; top: 0; height: 100vh; }
        .brand { display: flex; align-items: center; gap: .6rem; padding: 0 .5rem 1.2rem;
          color: #fff; font-weight: 650; font-size: 1.1rem; letter-spacing: -0.01em; }
        .brand img { width: 30px; height: 30px; }
        .side ul { list-style: none; margin: 0; padding: 0; display: grid; gap: 2px; }
        .side nav a { display: flex; align-items: center; gap: .65rem; padding: .5rem .6rem;
          border-radius: 8px; color: inherit; text-decoration: none; }
        .side nav a:hover { background: rgb(255 255 255 / 8%); color: #fff; }
        .side nav a[aria-current] { background: rgb(255 255 255 / 14%); color: #fff;
          font-weight: 600; }
        .side :focus-visible { outline-color: #9cc3ff; }
        .side svg { width: 18px; height: 18px; flex: none; fill: none; stroke: currentColor;
          stroke-width: 1.7; stroke-linecap: round; stroke-linejoin: round; }
        .side footer { margin-top: auto; padding: .6rem; font-size: .82rem; display: grid;
          gap: .5rem; }
        .side footer button { color: inherit; border-color: rgb(255 255 255 / 25%);
          background: none; width: 100%; }
        .side footer button:hover { background: rgb(255 255 255 / 10%); }
        .content { min-width: 0; display: flex; flex-direction: column; }
        .bar { display: flex; flex-wrap: wrap; align-items: end; gap: .8rem; padding: .6rem 1.8rem;
          background: var(--card); border-bottom: 1px solid var(--line); }
        .bar .grow { flex: 1; }
        main { padding: 1.6rem 1.8rem 3rem; max-width: 1320px; width: 100%; }
        .head { display: flex; flex-wrap: wrap; align-items: end; gap: .4rem 1.2rem;
          margin-bottom: 1.2rem; }
        .head p { margin: 0; flex-basis: 100%; }
        .head .grow { flex: 1; }

        @media (max-width: 860px) {
          .frame { grid-template-columns: minmax(0, 1fr); }
          .side { position: static; height: auto; padding: .7rem; }
          .brand { padding-bottom: .5rem; }
          .side ul { display: flex; flex-wrap: wrap; }
          .side footer { grid-auto-flow: column; align-items: center; margin-top: .5rem; }
          main, .bar { padding-left: 1rem; padding-right: 1rem; }
        }

        .door { min-height: 100vh; display: grid; place-items: center; padding: 1rem; }
        .door .card { width: min(430px, 100%); padding: 2rem; }
        .door img { width: 52px; height: 52px; margin-bottom: .8rem; }
        .door h1 { margin-bottom: .5rem; }
        """#
}
