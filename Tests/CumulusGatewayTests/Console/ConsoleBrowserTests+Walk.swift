// The console in a real browser, beyond the main act of each page: many records at once, mistakes
// and edits that are not saved, the schema by form, the pages about the node, a phone's width, dark
// colours, and the keyboard alone.
//
// Skipped where chromedriver is not installed, see `WebDriver`.

import CumulusGateway
import CumulusModel
import CumulusTesting
import Foundation
import Testing

extension ConsoleBrowserTests {
    private static let scope = "\(TestServer.container)/development"

    /// Every page, as its address names it.
    private static let pages = [
        "containers", "schema", "records", "people", "sessions", "webapps", "webhooks", "audit",
        "cluster", "live", "logs", "backups", "settings", "sync",
    ]

    private static let auditLines = [
        """
        {"time":1700000000000,"caller":"operator","method":"OPERATOR_BACK_UP",\
        "target":"/backups/monday","code":0,"epoch":1}
        """,
        """
        {"time":1700000001000,"caller":"anonymous","method":"ACCOUNTS_SIGN_IN",\
        "target":"mallory","code":9,"epoch":1}
        """,
    ]

    private static let logLine = """
        {"time":"2026-11-30T12:00:00.000Z","level":"warning","message":"a disk is slow",\
        "metadata":{"disk":"sda"}}
        """

    private static let apps = """
        [{"container": "iCloud.a", "environment": "production", "token": "0123456789abcdef",
          "origins": ["https://app.example.com"]}]
        """

    private static let hooks = """
        [{"name": "mailer", "url": "https://example.com/T1", "secretFile": "s"}]
        """

    /// Gives the body a browser whose operator is signed in.
    private func walk(
        _ body: @escaping @Sendable (_ browser: WebDriver, _ url: String) throws -> Void
    ) async throws {
        let apps = try WebApps.all(Bytes(Self.apps.utf8))
        let hooks = try Webhook.entries(Bytes(Self.hooks.utf8))
        let meter = WebhookMeter()
        let fill: (inout ConsoleSources) -> Void = { sources in
            sources.auditLines = { Self.auditLines.map { Bytes($0.utf8) } }
            sources.logLines = { [Bytes(Self.logLine.utf8)] }
            sources.settings = [
                ConsoleSetting(
                    name: "data",
                    group: "The node",
                    value: "/srv/cumulus",
                    origin: "environment CUMULUS_DATA",
                    help: "Directory of the node's data."
                ),
                ConsoleSetting(
                    name: "tls-key",
                    group: "TLS",
                    value: nil,
                    origin: "flag",
                    help: "The certificate's key."
                ),
            ]
            sources.webApps = { apps }
            sources.webhooks = ({ hooks }, meter)
        }
        try await withPages(fill: fill) { url in
            let browser = try WebDriver(screenshots: Self.folder)
            defer { browser.quit() }
            try browser.open(url)
            try browser.type(TestServer.operatorToken, into: "token")
            try browser.click("Sign in")
            try browser.wait(for: "document.querySelector('.side')")
            try body(browser, url)
        }
    }

    private static func visit(_ page: String, _ browser: WebDriver, _ url: String) throws {
        // A page that is shown already would stay as it is.
        try browser.open("about:blank")
        try browser.open("\(url)#/\(page)/\(scope)")
        try browser.wait(
            for: "document.querySelector('h1') && !document.querySelector('[aria-busy]')"
        )
    }

    private static func act(as user: String, _ browser: WebDriver) throws {
        try browser.click("Act as a user")
        try browser.type(user, into: "name")
        try browser.type("correct horse", into: "password")
        try browser.click("Act as this user", "dialog button")
        try browser.see("You act as \(user) now.")
    }

    // MARK: Records

    @Test func aTypeShowsItsRecordsAtOnce() async throws {
        try await walk { browser, url in
            try Self.visit("records", browser, url)
            // The first type is one of the app.
            try browser.wait(for: "document.querySelector('[name=type]').value === 'Folder'")
            try browser.see("1 record")
            try browser.type("Note", into: "type")
            try browser.see("8 records")
            try browser.see("Tea in Kyoto")
            // Columns sort by a click, up and down.
            let first = "document.querySelector('tbody button').textContent === arguments[0]"
            try browser.click("title", "th button")
            try browser.wait(for: first, "note-7")
            try browser.click("title", "th button")
            try browser.wait(for: first, "note-5")
            // Columns are chosen, and the address keeps them.
            _ = try browser.run("document.querySelector('[name=column-stars]').click()")
            try browser.wait(for: "decodeURIComponent(location.hash).includes('stars')")
            #expect(try browser.complaints() == [])
        }
    }

    /// The type has no index, and more records than a page.
    @Test func aLargeTypeIsListedPageByPage() async throws {
        try await walk { browser, url in
            try Self.visit("records", browser, url)
            try browser.type("Reading", into: "type")
            try browser.see("No field of this type has an index")
            try browser.see("Records 1 to 200")
            try browser.type("1000", into: "size")
            try browser.see("Records 1 to 1,000")
            try browser.click("value", "th button")
            try browser.see("Sorted among the 1,000 records of this page.")
            try browser.click("Next page")
            try browser.see("Records 1,001 to 1,050 of 1,050")
            try browser.see("reading-11049")
            try browser.click("Previous page")
            try browser.see("Records 1 to 1,000")
            #expect(try browser.complaints() == [])
        }
    }

    @Test func severalRecordsAreExportedAndDeleted() async throws {
        try await walk { browser, url in
            try Self.visit("records", browser, url)
            try Self.act(as: "ada", browser)
            try browser.type("Note", into: "type")
            try browser.see("8 records")
            _ = try browser.run(
                """
                window.files = [];
                const make = URL.createObjectURL;
                URL.createObjectURL = (file) => {
                  file.text().then((text) => window.files.push(text));
                  return make(file);
                };
                """
            )
            try browser.click("Export CSV")
            try browser.see("8 records exported.")
            try browser.wait(for: "window.files[0]?.split('\\r\\n').length === 10")
            try browser.wait(for: "window.files[0].startsWith('recordName,recordType,zone,')")
            try browser.wait(for: #"window.files[0].includes('"Sourdough, again"')"#)
            // The first, and with Shift all up to the third.
            _ = try browser.run(
                """
                const boxes = document.querySelectorAll("td.pick input");
                boxes[0].click();
                const click = new MouseEvent("click", { bubbles: true, shiftKey: true });
                boxes[2].dispatchEvent(click);
                """
            )
            try browser.see("3 picked")
            try browser.click("Export JSON")
            try browser.see("3 records exported.")
            try browser.wait(for: "JSON.parse(window.files[1]).length === 3")
            try browser.shoot("3-picked")
            try browser.click("Delete")
            try browser.see("Delete 3 records?")
            try browser.click("Delete", "dialog button.main")
            try browser.see("3 records are deleted.")
            try browser.see("5 records")
            #expect(try browser.complaints() == [])
        }
    }

    @Test func everyMistakeStandsAtItsField() async throws {
        try await walk { browser, url in
            try Self.visit("records", browser, url)
            try Self.act(as: "ada", browser)
            try browser.type("Note", into: "type")
            try browser.click("note-2", "td button")
            try browser.click("Edit")
            for (field, text) in [
                ("stars", "12x"), ("due", "never"), ("place", "1"), ("tags", "[1"),
            ] {
                try browser.type(text, into: field)
            }
            try browser.click("Save")
            try browser.wait(for: "document.querySelectorAll('form .wrong').length === 4")
            try browser.wait(
                for: """
                    ["stars", "due", "place", "tags"].every((name) => document
                      .querySelector(`[name=${name}]`).closest(".field").querySelector(".wrong"))
                    """
            )
            try browser.shoot("3-mistakes")
            // What is corrected is wrong no more.
            try browser.type("3", into: "stars")
            try browser.wait(for: "document.querySelectorAll('form .wrong').length === 3")
            // A mistake covers nothing that can be pressed.
            try browser.wait(
                for: """
                    (() => {
                      const save = [...document.querySelectorAll("form button")].find((each) =>
                        each.textContent === "Save");
                      save.scrollIntoView({ block: "center" });
                      const { x, y, width, height } = save.getBoundingClientRect();
                      return document.elementFromPoint(x + width / 2, y + height / 2) === save;
                    })()
                    """
            )
            #expect(try browser.complaints() == [])
        }
    }

    @Test func unsavedEditsAskBeforeTheyGo() async throws {
        try await walk { browser, url in
            try Self.visit("records", browser, url)
            try Self.act(as: "ada", browser)
            try browser.type("Note", into: "type")
            try browser.click("note-2", "td button")
            try browser.click("Edit")
            try browser.type("Not saved", into: "title")
            let typed = "document.querySelector('[name=title]')?.value === 'Not saved'"
            let ways: [(WebDriver) throws -> Void] = [
                { try $0.click("note-3", "td button") }, { try $0.click("Schema", "nav a") },
                { try $0.click("Sign out") }, { try $0.click("Cancel", "form button") },
                { try $0.click("Stop") },
            ]
            for leave in ways {
                try leave(browser)
                try browser.see("Discard your changes?")
                try browser.click("Keep editing", "dialog button")
                try browser.wait(for: "!document.querySelector('dialog')")
                try browser.wait(for: typed)
                try browser.wait(for: "location.hash.startsWith('#/records')")
            }
            try browser.click("Schema", "nav a")
            try browser.click("Discard", "dialog button")
            try browser.wait(for: "document.querySelector('h1')?.textContent === 'Schema'")
        }
    }

    // MARK: The schema

    @Test func theSchemaIsMadeByForm() async throws {
        try await walk { browser, url in
            try Self.visit("schema", browser, url)
            try browser.click("Add type")
            try browser.type("Recipe Book", into: "new-type")
            try browser.click("Add", "dialog button.main")
            try browser.wait(for: "document.querySelector('dialog .wrong')")
            #expect(try browser.complaints().allSatisfy { $0.contains("400") })
            try browser.type("Recipe", into: "new-type")
            try browser.click("Add", "dialog button.main")
            try browser.see("+ type Recipe")
            try browser.type("title", into: "new-field")
            try browser.click("Add field")
            try browser.see("+ field Recipe.title STRING")
            let box = "document.querySelector(`[name=\"${arguments[0]}\"]`)"
            for name in ["Recipe.title.SORTABLE", "Recipe.editor.WRITE"] {
                try browser.wait(for: box, name)
                _ = try browser.run("\(box).click()", name)
                try browser.wait(for: "\(box).checked", name)
            }
            try browser.see("~ grants of Recipe to editor: none -> WRITE")
            // The text beside the form means the same.
            try browser.wait(
                for: "document.querySelector('textarea').value.includes('STRING SORTABLE')"
            )
            try browser.shoot("2-form")
            try browser.click("Import into development")
            try browser.see("The schema is imported.")
            try browser.see("Nothing is changed yet.")
        }
    }

    @Test func aMistakeInTheTextMarksItsLine() async throws {
        try await walk { browser, url in
            try Self.visit("schema", browser, url)
            _ = try browser.run(
                """
                const text = document.querySelector("textarea");
                text.value = text.value.replace("stars", "sta rs");
                text.dispatchEvent(new Event("input", { bubbles: true }));
                """
            )
            try browser.wait(for: "document.querySelector('.numbers .bad')")
            let marked = try browser.run(
                """
                const line = Number(document.querySelector(".numbers .bad").textContent);
                return document.querySelector("textarea").value.split("\\n")[line - 1];
                """
            )
            #expect(marked.string?.contains("sta rs") == true)
            try browser.wait(
                for: """
                    [...document.querySelectorAll("button")].find((each) =>
                      each.textContent.startsWith("Import")).disabled
                    """
            )
            try browser.click("Discard")
            try browser.see("Nothing is changed yet.")
        }
    }

    // MARK: The node

    @Test func thePagesAboutTheNodeTellWhatItKnows() async throws {
        try await walk { browser, url in
            for (page, texts) in [
                ("audit", ["mallory", "OPERATOR_BACK_UP", "2023-11-14 22:13:20 UTC"]),
                ("logs", ["a disk is slow", "warning", "2026-11-30 12:00:00 UTC"]),
                ("settings", ["/srv/cumulus", "environment CUMULUS_DATA"]),
                ("backups", ["/backups/monday"]), ("webapps", ["https://app.example.com"]),
                ("webhooks", ["mailer", "https://example.com:443"]), ("sessions", ["ada"]),
            ] {
                try Self.visit(page, browser, url)
                for text in texts { try browser.see(text) }
                try browser.shoot("8-\(page)")
            }
            // What leads to a key is only told as set.
            try Self.visit("settings", browser, url)
            try browser.wait(
                for: """
                    [...document.querySelectorAll("tr")].find((row) =>
                      row.textContent.startsWith("tls-key")).children[1].textContent === "set"
                    """
            )
            try Self.visit("audit", browser, url)
            try browser.type("refused", into: "outcome")
            try browser.wait(for: "document.querySelectorAll('tbody tr').length === 1")
            try Self.visit("logs", browser, url)
            try browser.type("error", into: "level")
            try browser.see("No line is like that.")
            try Self.visit("backups", browser, url)
            try browser.type("/nowhere/backup", into: "backup-path")
            try browser.click("Make a backup")
            try browser.wait(for: "document.querySelector('.field .wrong')")
        }
    }

    // MARK: Sizes, colours, keys

    /// No page, and nothing on a page, is wider than its place.
    @Test(arguments: [(390, false), (1400, false), (390, true), (1400, true)])
    func everyPageFitsInLightAndDark(_ width: Int, _ isDark: Bool) async throws {
        try await walk { browser, url in
            try browser.show(width: width, isDark: isDark)
            for page in Self.pages {
                try Self.visit(page, browser, url)
                let wide = try browser.run(
                    """
                    const all = [document.documentElement,
                      ...document.querySelectorAll(".scroll, main, .card")];
                    return all.filter((each) => each.scrollWidth > each.clientWidth + 1)
                      .map((each) => `${each.tagName} ${each.className}`).join(", ");
                    """
                )
                #expect(wide == "", "\(page)")
                // The background of a page is almost black or almost white.
                let light = try browser.run(
                    """
                    const colour = getComputedStyle(document.body).backgroundColor;
                    return String(Number(colour.match(/\\d+/)[0]) > 128);
                    """
                )
                #expect(light == (isDark ? "false" : "true"), "\(page)")
                try browser.shoot("9-\(page)-\(width)\(isDark ? "-dark" : "")")
            }
            #expect(try browser.complaints() == [])
        }
    }

    @Test func theKeyboardIsEnough() async throws {
        try await walk { browser, url in
            let (tab, enter) = (WebDriver.tabKey, WebDriver.enterKey)
            try browser.click("Sign out")
            try browser.wait(for: "document.activeElement?.name === 'token'")
            try browser.press(TestServer.operatorToken + enter)
            try browser.wait(for: "document.activeElement?.tagName === 'H1'")
            try browser.tab(to: "e.className === 'skip'")
            try browser.press(enter)
            try browser.wait(for: "document.activeElement.id === 'main'")

            try Self.visit("records", browser, url)
            try browser.tab(to: "e.name === 'type'")
            try browser.press("N")
            try browser.see("8 records")
            try browser.tab(to: "e.tagName === 'SUMMARY'")
            try browser.press(enter)
            try browser.wait(for: "document.querySelector('details.menu').open")
            try browser.press(tab + WebDriver.escapeKey)
            try browser.wait(for: "!document.querySelector('details.menu').open")
            try browser.tab(to: "e.classList.contains('sort') && e.textContent === 'title'")
            try browser.press(enter)
            try browser.wait(for: "document.querySelector('th[aria-sort] button')")
            try browser.wait(for: "document.activeElement.textContent === 'title'")
            try browser.tab(to: "e.closest('td.pick')")
            try browser.press(" ")
            try browser.see("1 picked")
            try browser.tab(to: "e.tagName === 'BUTTON' && e.closest('td')")
            try browser.press(enter)
            try browser.see("change tag")
            try browser.tab(to: "e.textContent === 'Act as a user…'")
            try browser.press(enter)
            try browser.wait(for: "document.activeElement.name === 'name'")
            try browser.press("ada" + tab + "correct horse" + enter)
            try browser.see("Acting as ada")

            try Self.visit("schema", browser, url)
            try browser.tab(to: "e.getAttribute('role') === 'tab'")
            try browser.press(WebDriver.rightKey)
            try browser.see("From production to development")
        }
    }
}
