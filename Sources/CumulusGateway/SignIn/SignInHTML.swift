// The sign-in page as text: plain HTML, one style sheet, one script, and the headers that hold
// browsers to them.
//
// Made by `SignInPages` from values. Everything that is not written here is escaped. Pages work
// without the script, but for the message to the app.

package import CumulusModel

package enum SignInHTML {
    /// What the form shows.
    package struct Form: Hashable, Sendable {
        /// To whom a user signs in: an origin, or a host.
        package var app: String
        package var state: String
        /// Issuers with their names for people.
        package var providers: [WebProvider.Choice] = []
        /// Why an attempt failed; empty before the first one.
        package var problem = ""
        /// What the user typed before.
        package var name = ""
        package var isKept = false
        /// A window that can be told of it waits for the user.
        package var canCancel = false

        package init(app: String, state: String) {
            self.app = app
            self.state = state
        }
    }

    // MARK: Pages

    package static func form(_ form: Form, at site: WebAddress) -> String {
        let problem =
            form.problem.isEmpty
            ? "" : "<p class=\"problem\" role=\"alert\">\(escape(form.problem))</p>"
        let kept = form.isKept ? " checked" : ""
        let cancel = form.canCancel ? button("cancel", "yes", "Cancel") : ""
        let providers = form.providers
            .map { button("provider", $0.issuer, "Sign in with \($0.name)") }.joined()
        return page(
            "Sign in",
            at: site,
            """
            <h1>Sign in</h1>
            <p>to <strong>\(escape(form.app))</strong></p>
            \(problem)
            <form method="post" action="\(escape(site.text))/sign-in">
            <input type="hidden" name="state" value="\(escape(form.state))">
            <label>Name <input name="name" value="\(escape(form.name))" required \
            autocomplete="username" autocapitalize="none" spellcheck="false" \
            maxlength="255"></label>
            <label>Password <input name="password" type="password" required \
            autocomplete="current-password" maxlength="256"></label>
            <label class="choice"><input name="keep" type="checkbox" value="yes"\(kept)> \
            Keep me signed in</label>
            <button type="submit">Sign in</button>
            \(cancel)\(providers)
            </form>
            """
        )
    }

    /// A button that needs neither a name nor a password.
    private static func button(_ name: String, _ value: String, _ text: String) -> String {
        """
        <button type="submit" class="other" formnovalidate name="\(name)" \
        value="\(escape(value))">\(escape(text))</button>
        """
    }

    /// Tells the app; its window closes this one, or the user does.
    package static func done(
        _ message: JSON,
        origins: [String],
        at site: WebAddress
    ) -> String {
        let list: JSON = .array(origins.map { .string($0) })
        return page(
            "Signed in",
            at: site,
            """
            <p id="done" data-message="\(escape(message.text))" \
            data-origins="\(escape(list.text))">Go back to the app. If it still asks you to sign \
            in, close this page and begin there again.</p>
            """
        )
    }

    /// Leads to a provider.
    ///
    /// A page and no redirect: browsers hold the redirects after a form to the form's own policy,
    /// and a provider may use several sites.
    package static func passage(to url: String, _ name: String, at site: WebAddress) -> String {
        page(
            "Sign in",
            at: site,
            """
            <p><a href="\(escape(url))">Continue to \(escape(name))</a></p>
            """,
            head: "<meta http-equiv=\"refresh\" content=\"0; url=\(escape(url))\">\n"
        )
    }

    package static func notice(_ text: String, at site: WebAddress) -> String {
        page("Sign in", at: site, "<h1>Sign in</h1>\n<p>\(escape(text))</p>")
    }

    private static func page(
        _ title: String,
        at site: WebAddress,
        _ body: String,
        head: String = ""
    ) -> String {
        """
        <!DOCTYPE html>
        <html lang="en">
        <head>
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        \(head)<title>\(title)</title>
        <link rel="stylesheet" href="\(escape(site.text))/sign-in/page.css">
        <script src="\(escape(site.text))/sign-in/page.js" defer></script>
        </head>
        <body>
        <main>
        \(body)
        </main>
        </body>
        </html>

        """
    }

    /// Safe as text and in an attribute.
    package static func escape(_ text: String) -> String {
        var escaped = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": escaped += "&amp;"
            case "<": escaped += "&lt;"
            case ">": escaped += "&gt;"
            case "\"": escaped += "&quot;"
            case "'": escaped += "&#39;"
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }

    // MARK: Files

    package static let style = """
        :root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
        body { margin: 0; }
        main { max-width: 22rem; margin: 0 auto; padding: 2rem 1.5rem; }
        h1 { margin: 0; font-size: 1.5rem; }
        form { display: grid; gap: 1rem; margin-top: 1.5rem; }
        label { display: grid; gap: 0.25rem; }
        label.choice { display: flex; gap: 0.5rem; align-items: center; }
        input, button { font: inherit; padding: 0.5rem 0.75rem; box-sizing: border-box; }
        input:not([type=checkbox]) { width: 100%; }
        .problem { border-left: 4px solid #c33; padding-left: 0.75rem; }

        """

    /// Tells the app of a user who signed in.
    package static let script = """
        "use strict";
        const done = document.getElementById("done");
        if (done && window.opener) {
            const message = JSON.parse(done.dataset.message);
            for (const origin of JSON.parse(done.dataset.origins)) {
                window.opener.postMessage(message, origin);
            }
            window.close();
        }

        """

    /// What browsers are held to on every page.
    ///
    /// - Parameter callback: What a form's answer may lead to besides the node; empty: nothing.
    package static func headers(
        _ type: String,
        callback: String = ""
    ) -> [(name: String, value: String)] {
        let policy = [
            "default-src 'none'", "style-src 'self'", "script-src 'self'",
            callback.isEmpty ? "form-action 'self'" : "form-action 'self' \(callback)",
            "frame-ancestors 'none'", "base-uri 'none'",
        ]
        return [
            (name: "Content-Type", value: type + "; charset=utf-8"),
            (name: "Content-Security-Policy", value: policy.joined(separator: "; ")),
            (name: "X-Frame-Options", value: "DENY"),
            (name: "Referrer-Policy", value: "no-referrer"),
            (name: "X-Content-Type-Options", value: "nosniff"),
            (name: "Cache-Control", value: "no-store"),
        ]
    }
}
