// The looks of what stands on the console's pages: tables, forms, plots, messages.
//
// Served by `ConsoleFile`.

extension ConsoleFile {
    static let parts = #"""
        .card { background: var(--card); border: 1px solid var(--line); border-radius: 12px;
          padding: 1.1rem 1.2rem; }
        .card + .card, .card + .grid, .grid + .card, .card + .split { margin-top: 1rem; }
        .grid { display: grid; gap: 1rem;
          grid-template-columns: repeat(auto-fit, minmax(280px, 1fr)); }
        .grid > .card { margin: 0; }
        .split { display: grid; gap: 1rem; align-items: start;
          grid-template-columns: minmax(200px, 270px) minmax(0, 1fr); }
        .split.wide { grid-template-columns: minmax(0, 1fr) minmax(340px, 430px); }
        .split > .card, .stack > .card { margin: 0; }
        .split > * { min-width: 0; }
        .split.single { grid-template-columns: minmax(0, 1fr); }
        .plots { grid-template-columns: repeat(auto-fit, minmax(400px, 1fr)); }
        @media (max-width: 1020px) {
          .split, .split.wide { grid-template-columns: minmax(0, 1fr); }
        }
        .row { display: flex; flex-wrap: wrap; align-items: end; gap: .7rem; }
        .row.middle { align-items: center; }
        .row .grow { flex: 1 1 12rem; }
        .row p { margin: 0; }
        .stack { display: grid; gap: .8rem; grid-template-columns: minmax(0, 1fr); }

        label { display: grid; gap: .25rem; font-size: .86rem; color: var(--muted); }
        label.check { display: flex; align-items: center; gap: .45rem; }
        input, select, textarea { font: inherit; font-size: .95rem; color: var(--text);
          background: var(--sunk); border: 1px solid var(--line); border-radius: 8px;
          padding: .42rem .6rem; min-width: 0; max-width: 100%; min-height: 2.3rem; }
        input[type=checkbox] { width: 1rem; min-height: 1rem; height: 1rem; padding: 0;
          accent-color: var(--accent); }
        textarea { font-family: var(--mono); font-size: .86rem; line-height: 1.45; width: 100%;
          resize: vertical; }
        input.mono { font-family: var(--mono); font-size: .88rem; }
        input::placeholder, textarea::placeholder { color: var(--muted); opacity: .9; }
        button, .button { font: inherit; font-size: .92rem; font-weight: 550; cursor: pointer;
          padding: .42rem .9rem; border-radius: 8px; border: 1px solid var(--line);
          background: var(--card); color: var(--text); }
        button:hover { border-color: var(--accent); }
        button.main { background: var(--accent); border-color: var(--accent);
          color: var(--accent-text); }
        button.main:hover { filter: brightness(1.08); }
        button.bad { color: var(--bad); }
        button.bad:hover { border-color: var(--bad); background: var(--bad-soft); }
        button.plain { border: 0; background: none; padding: .1rem .2rem; color: var(--accent);
          text-align: left; font-weight: 500; }
        button.plain:hover { text-decoration: underline; }
        button.little { padding: .18rem .6rem; font-size: .84rem; }
        button[disabled] { opacity: .5; cursor: default; }

        .scroll { overflow-x: auto; }
        table { border-collapse: collapse; width: 100%; font-size: .92rem; }
        caption { text-align: left; font-weight: 600; padding: 0 0 .4rem; }
        th { text-align: left; font-weight: 550; font-size: .8rem; color: var(--muted);
          padding: .35rem .7rem; border-bottom: 1px solid var(--line); white-space: nowrap; }
        td { padding: .45rem .7rem; border-bottom: 1px solid var(--line); vertical-align: top; }
        td time, td button, td code { white-space: nowrap; }
        tbody tr:last-child td { border-bottom: 0; }
        tbody tr:hover { background: var(--sunk); }
        tr.chosen, tr.chosen:hover { background: var(--soft); }
        th:first-child, td:first-child { padding-left: .3rem; }
        td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; }
        td.cut { max-width: 18rem; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
        td.acts { text-align: right; white-space: nowrap; }
        .empty { color: var(--muted); padding: .8rem .3rem; margin: 0; }

        .badge { display: inline-block; padding: .05rem .5rem; border-radius: 99px;
          font-size: .78rem; font-weight: 600; background: var(--soft); color: var(--accent);
          white-space: nowrap; }
        .badge.good { background: var(--good-soft); color: var(--good); }
        .badge.warn { background: var(--warn-soft); color: var(--warn); }
        .badge.bad { background: var(--bad-soft); color: var(--bad); }
        .badge.grey { background: var(--sunk); color: var(--muted); border: 1px solid var(--line); }
        .badge + .badge { margin-left: .3rem; }

        dl.facts { display: grid; grid-template-columns: max-content minmax(0, 1fr); margin: 0;
          gap: .3rem 1.1rem; }
        dl.facts dt { color: var(--muted); font-size: .88rem; }
        dl.facts dd { margin: 0; overflow-wrap: anywhere; }
        .figures { display: flex; flex-wrap: wrap; gap: .4rem 1.8rem; margin: .2rem 0 .8rem; }
        .figures div { display: grid; }
        .figures b { font-size: 1.35rem; font-weight: 620; letter-spacing: -0.01em;
          font-variant-numeric: tabular-nums; line-height: 1.25; }
        .figures span { font-size: .8rem; color: var(--muted); }

        .tabs { display: flex; flex-wrap: wrap; gap: .2rem; margin-bottom: 1rem;
          border-bottom: 1px solid var(--line); }
        .tabs button { border: 0; border-radius: 8px 8px 0 0; background: none; color: var(--muted);
          padding: .5rem .9rem; border-bottom: 2px solid transparent; }
        .tabs button[aria-selected=true] { color: var(--text); border-bottom-color: var(--accent); }
        .list { list-style: none; margin: 0; padding: 0; display: grid; gap: 2px; }
        .list button { width: 100%; border: 0; text-align: left; background: none;
          font-weight: 500; }
        .list button:hover { background: var(--sunk); }
        .list button[aria-current] { background: var(--soft); color: var(--accent);
          font-weight: 600; }
        pre.text { background: var(--sunk); border: 1px solid var(--line); border-radius: 8px;
          padding: .9rem 1rem; overflow: auto; margin: 0; max-height: 34rem; line-height: 1.5; }
        .changes { list-style: none; padding: 0; margin: 0; font: .87rem/1.5 var(--mono); }
        .changes li { padding: .22rem .7rem; border-radius: 6px; margin-bottom: 2px;
          background: var(--warn-soft); color: var(--warn); }
        .changes li.plus { background: var(--good-soft); color: var(--good); }
        .changes li.minus { background: var(--bad-soft); color: var(--bad); }

        img.asset { max-width: 100%; max-height: 260px; border-radius: 8px; display: block;
          border: 1px solid var(--line); background: var(--sunk); }
        td img.asset { max-height: 34px; max-width: 60px; border-radius: 5px; }
        fieldset.files { margin: 0; min-width: 0; padding: .5rem .8rem .8rem; display: grid;
          gap: .6rem; border: 1px solid var(--line); border-radius: 8px; }
        fieldset.files legend { padding: 0 .3rem; font-size: .86rem; color: var(--muted); }
        fieldset.files ul { list-style: none; margin: 0; padding: 0; display: grid; gap: .6rem; }
        fieldset.files li { overflow-wrap: anywhere; }
        fieldset.files img.asset { max-height: 120px; }
        label.button { display: inline-block; position: relative; }
        label.button:hover { border-color: var(--accent); }
        label.button:focus-within { outline: 3px solid var(--accent); outline-offset: 2px; }
        .pair { display: grid; grid-template-columns: 1fr 1fr; gap: .8rem; }
        .pair > div { background: var(--sunk); border: 1px solid var(--line); border-radius: 8px;
          padding: .6rem .8rem; overflow-wrap: anywhere; min-width: 0; }
        .pair h4 { margin: 0 0 .3rem; font-size: .8rem; color: var(--muted); font-weight: 550; }
        @media (max-width: 700px) { .pair { grid-template-columns: 1fr; } }

        .plot { display: block; width: 100%; height: auto; }
        .plot text { fill: var(--muted); font-size: 10px; font-variant-numeric: tabular-nums; }
        .plot .gridline { stroke: var(--line); stroke-width: 1; }
        .plot .line { fill: none; stroke-width: 1.8; stroke-linejoin: round; }
        .plot .area { opacity: .13; stroke: none; }
        .plot .s0 { stroke: var(--plot1); fill: var(--plot1); }
        .plot .s1 { stroke: var(--plot2); fill: var(--plot2); }
        .plot .s2 { stroke: var(--plot3); fill: var(--plot3); }
        .plot .line.s0, .plot .line.s1, .plot .line.s2 { fill: none; }
        .legend { display: flex; flex-wrap: wrap; gap: .2rem 1.2rem; margin: 0 0 .3rem; padding: 0;
          list-style: none; font-size: .86rem; }
        .legend b { font-size: 1.15rem; font-variant-numeric: tabular-nums; margin-right: .2rem; }
        .legend svg.plot { display: inline-block; width: 10px; height: 10px; margin-right: .4rem; }

        .checks { list-style: none; margin: 0; padding: 0; display: grid; gap: .6rem; }
        .checks li { display: grid; grid-template-columns: 5.4rem minmax(0, 1fr); gap: .2rem .8rem;
          padding: .6rem 0; border-top: 1px solid var(--line); }
        .checks li:first-child { border-top: 0; }
        .checks li > div { min-width: 0; }
        .checks .badge { justify-self: start; align-self: start; }

        dialog { border: 1px solid var(--line); border-radius: 14px; background: var(--card);
          color: var(--text); padding: 1.4rem; width: min(460px, calc(100vw - 2rem)); }
        dialog::backdrop { background: rgb(8 14 22 / 45%); }
        dialog .row { justify-content: flex-end; margin-top: 1rem; }
        #messages { position: fixed; right: 1.2rem; bottom: 1.2rem; z-index: 8; display: grid;
          gap: .5rem; width: min(420px, calc(100vw - 2rem)); pointer-events: none; }
        #messages p { margin: 0; padding: .7rem 1rem; border-radius: 10px;
          border: 1px solid rgb(255 255 255 / 18%);
          background: var(--side); color: #fff; box-shadow: 0 6px 24px rgb(0 0 0 / 25%);
          pointer-events: auto; }
        #messages p.bad { background: #8f1d33; }
        .problem { border-left: 4px solid var(--bad); background: var(--bad-soft);
          color: var(--bad);
          padding: .6rem .9rem; border-radius: 6px; margin: 0; }
        @media (prefers-reduced-motion: no-preference) {
          button, .side nav a { transition: background-color .12s, border-color .12s; }
        }
        """#
}
