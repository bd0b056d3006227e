// The pages to sign in at: templates with their values, and the headers that hold browsers to
// them.
//
// Made by `SignInPages` from values. The templates are files of `CumulusPages`, whose
// `HTMLTemplate` escapes all values. Pages work without the script, but for the message to the app.

package import CumulusModel
import CumulusPages

package enum SignInHTML {
    /// The content of the form.
    package struct Form: Hashable, Sendable {
        /// The target of the sign-in: an origin, or a host.
        package var app: String
        package var state: String
        /// Issuers with their names for people.
        package var providers: [WebProvider.Choice] = []
        /// Why an attempt failed; empty before the first one.
        package var problem = ""
        /// The name that the user typed before.
        package var name = ""
        package var isKept = false
        /// A window that can be told of it waits for the user.
        package var canCancel = false
        /// The app's name for people; may be empty.
        package var title = ""
        /// PNG or JPEG; empty: the app has no logo.
        package var logo: Bytes = []
        /// It makes a new user.
        package var registers = false
        /// The link to the form for new users, or back from it; empty if nobody can register.
        package var otherForm = ""

        package init(app: String, state: String) {
            self.app = app
            self.state = state
        }
    }

    // MARK: Pages

    package static func form(_ form: Form, at site: WebAddress) -> String {
        let cancel = form.canCancel ? [button("cancel", "yes", "Cancel")] : []
        let providers = form.providers.map {
            button("provider", $0.issuer, "Sign in with \($0.name)")
        }
        let template = form.registers ? SignInFile.register : SignInFile.form
        let body = template.filled([
            "brand": brand(form),
            "register": link(form),
            "app": HTML(form.app),
            "problem": problem(form.problem),
            "site": HTML(site.text),
            "state": HTML(form.state),
            "name": HTML(form.name),
            "kept": form.isKept ? HTML(markup: " checked") : HTML(""),
            "others": HTML(cancel + providers),
        ])
        return page(form.registers ? "Create an account" : "Sign in", at: site, body)
    }

    private static func brand(_ form: Form) -> HTML {
        guard let type = WebApp.mediaType(ofLogo: form.logo) else {
            return form.title.isEmpty ? HTML("") : brand(form.title, HTML(""))
        }
        let source = "data:\(type);base64,\(Base64.encode(form.logo))"
        return brand(form.title, SignInFile.logo.filled(["source": HTML(source)]))
    }

    private static func brand(_ title: String, _ logo: HTML) -> HTML {
        SignInFile.brand.filled(["title": HTML(title), "logo": logo])
    }

    private static func link(_ form: Form) -> HTML {
        if form.otherForm.isEmpty { return HTML("") }
        let text = form.registers ? "Sign in with an account that you have" : "Create an account"
        return SignInFile.link.filled(["url": HTML(form.otherForm), "text": HTML(text)])
    }

    /// The form with which users change their passwords.
    package static func password(
        _ name: String,
        problem: String = "",
        at site: WebAddress
    ) -> String {
        let body = SignInFile.password.filled([
            "problem": self.problem(problem), "site": HTML(site.text), "name": HTML(name),
        ])
        return page("Change your password", at: site, body)
    }

    /// The form with which the bearer of a link sets a new password.
    package static func reset(
        _ token: String,
        problem: String = "",
        at site: WebAddress
    ) -> String {
        let body = SignInFile.reset.filled([
            "problem": self.problem(problem), "site": HTML(site.text), "token": HTML(token),
        ])
        return page("Set a new password", at: site, body)
    }

    private static func problem(_ text: String) -> HTML {
        text.isEmpty ? HTML("") : SignInFile.problem.filled(["problem": HTML(text)])
    }

    private static func button(_ name: String, _ value: String, _ text: String) -> HTML {
        SignInFile.button.filled(["name": HTML(name), "value": HTML(value), "text": HTML(text)])
    }

    /// Tells the app; its window closes this one, or the user does.
    package static func done(
        _ message: JSON,
        origins: [String],
        at site: WebAddress
    ) -> String {
        let list: JSON = .array(origins.map { .string($0) })
        let body = SignInFile.done.filled([
            "message": HTML(message.text), "origins": HTML(list.text),
        ])
        return page("Signed in", at: site, body)
    }

    /// Leads to a provider.
    ///
    /// A page and no redirect: browsers hold the redirects after a form to the form's own policy,
    /// and a provider may use several sites.
    package static func passage(to url: String, _ name: String, at site: WebAddress) -> String {
        let body = SignInFile.passage.filled(["url": HTML(url), "name": HTML(name)])
        let refresh = SignInFile.refresh.filled(["url": HTML(url)])
        return page("Sign in", at: site, body, refresh: refresh)
    }

    package static func notice(
        _ text: String,
        title: String = "Sign in",
        at site: WebAddress
    ) -> String {
        let values = ["title": HTML(title), "text": HTML(text)]
        return page(title, at: site, SignInFile.notice.filled(values))
    }

    private static func page(
        _ title: String,
        at site: WebAddress,
        _ body: HTML,
        refresh: HTML = HTML("")
    ) -> String {
        let page = SignInFile.page.filled([
            "title": HTML(title), "site": HTML(site.text), "refresh": refresh, "body": body,
        ])
        return page.text
    }

    // MARK: Headers

    /// The headers of every page, which restrict browsers.
    ///
    /// - Parameter callback: The target besides the node that a form's answer may lead to; empty if
    ///   none.
    package static func headers(
        _ type: String,
        callback: String = ""
    ) -> [(name: String, value: String)] {
        let policy = [
            "default-src 'none'", "style-src 'self'", "script-src 'self'", "img-src data:",
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
