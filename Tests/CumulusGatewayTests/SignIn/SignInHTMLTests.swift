// The sign-in page as text, and the small formats around it: forms, cookies, addresses.

import CumulusGateway
import CumulusModel
import Testing

@Suite struct SignInHTMLTests {
    private let site: WebAddress

    init() throws { site = try #require(WebAddress("https://node.example/cumulus")) }

    private func pages() -> [String] {
        let wild = #""><script>alert('x')</script>"#
        var form = SignInHTML.Form(app: wild, state: wild)
        form.providers = [WebProvider.Choice(issuer: wild, name: wild)]
        form.problem = wild
        form.name = wild
        form.title = wild
        form.otherForm = wild
        var other = form
        other.registers = true
        return [
            SignInHTML.form(other, at: site),
            SignInHTML.password(wild, problem: wild, at: site),
            SignInHTML.reset(wild, problem: wild, at: site),
            SignInHTML.form(form, at: site), SignInHTML.notice(wild, at: site),
            SignInHTML.done(["ckSession": .string(wild)], origins: [wild], at: site),
            SignInHTML.passage(to: wild, wild, at: site),
        ]
    }

    /// A policy without exceptions holds only if nothing stands in the page itself.
    @Test func nothingButTheFilesIsRun() throws {
        for page in pages() {
            #expect(!page.contains("alert('x')") && !page.contains("<script>"))
            #expect(page.components("<script") == 3)
            #expect(page.contains(#"<script src="https://node.example/cumulus/sign-in/page.js""#))
            #expect(!page.contains("<style") && !page.contains("style=") && !page.contains(" on"))
        }
        let headers = Dictionary(
            uniqueKeysWithValues: SignInHTML.headers("text/html").map { ($0.name, $0.value) }
        )
        let policy = try #require(headers["Content-Security-Policy"])
        #expect(policy.hasPrefix("default-src 'none'; ") && !policy.contains("unsafe"))
        #expect(policy.contains("img-src data:"))
        #expect(policy.contains("frame-ancestors 'none'") && policy.contains("form-action 'self';"))
        #expect(headers["X-Frame-Options"] == "DENY")
        #expect(headers["Referrer-Policy"] == "no-referrer")
        #expect(headers["Cache-Control"] == "no-store")
        let more = SignInHTML.headers("text/html", callback: "https://app")
        #expect(more.contains { $0.value.contains("form-action 'self' https://app;") })
    }

    @Test func theFormHasWhatBrowsersFillIn() {
        var form = SignInHTML.Form(app: "https://app", state: "s1")
        let plain = SignInHTML.form(form, at: site)
        #expect(plain.contains(#"method="post" action="https://node.example/cumulus/sign-in""#))
        #expect(plain.contains(#"name="state" value="s1""#))
        #expect(plain.contains(#"autocomplete="username""#))
        #expect(plain.contains(#"type="password""#))
        #expect(!plain.contains("checked") && !plain.contains("role=\"alert\""))
        #expect(!plain.contains("Cancel"))
        form.isKept = true
        form.canCancel = true
        form.problem = "It was wrong."
        form.providers = [WebProvider.Choice(issuer: "https://id", name: "Example")]
        let full = SignInHTML.form(form, at: site)
        #expect(full.contains("checked") && full.contains("It was wrong."))
        #expect(full.contains(#"name="provider" value="https://id">Sign in with Example<"#))
        #expect(full.contains("Cancel"))
    }

    /// A logo is a picture in the page itself, and nothing else becomes one.
    @Test func onlyPicturesAreShown() {
        var form = SignInHTML.Form(app: "https://app", state: "s1")
        form.title = "Notes"
        form.logo = Bytes("<svg onload='x'/>".utf8)
        #expect(!SignInHTML.form(form, at: site).contains("<img"))
        form.logo = [0xFF, 0xD8, 0xFF, 1]
        let page = SignInHTML.form(form, at: site)
        #expect(page.contains("<img src=\"data:image/jpeg;base64,/9j/AQ==\" alt=\"\""))
        #expect(page.contains("<strong>Notes</strong>"))
        form.registers = true
        #expect(SignInHTML.form(form, at: site).contains("new-password"))
    }

    // MARK: Small formats

    @Test func formsAreReadAsBrowsersSendThem() {
        let fields = WebText.fields(of: "name=Ada+L%C3%B6w&password=a%26b%3D%2B&name=two&x&bad=%F")
        #expect(fields == ["name": "Ada Löw", "password": "a&b=+", "x": ""])
        let pairs: [(name: String, value: String)] = [("a b", "ü&="), ("c", "")]
        #expect(WebText.form(pairs) == "a%20b=%C3%BC%26%3D&c=")
        #expect(WebText.fields(of: WebText.form([("a", "ü &=+%")])) == ["a": "ü &=+%"])
        #expect(WebText.adding([("a", "b")], to: "app:x?y=z") == "app:x?y=z&a=b")
    }

    @Test func cookiesAreFound() {
        #expect(WebText.cookie("b", in: "a=1; b=2=3;c=4") == "2=3")
        #expect(WebText.cookie("c", in: "a=1; b=2;c=4") == "4")
        #expect(WebText.cookie("d", in: "ad=1; b=d=2") == nil)
        #expect(WebText.cookie("d", in: nil) == nil)
    }

    @Test func addressesAreTakenApart() throws {
        let plain = try #require(WebAddress("https://Node.Example/a/b?c=d"))
        #expect(plain.origin == "https://node.example" && plain.target == "/a/b?c=d")
        #expect(plain.port == 443 && plain.isSecret)
        let local = try #require(WebAddress("http://[::1]:7480"))
        #expect(local.host == "::1" && local.port == 7_480 && local.isSecret)
        #expect(local.origin == "http://[::1]:7480" && local.target == "/")
        #expect(WebAddress("http://node.example")?.isSecret == false)
        #expect(WebAddress("http://node.example:80")?.origin == "http://node.example")
        for wrong in [
            "", "https://", "ftp://a", "https://a b", "https://user@a", "https://a#b",
            "https://a:0", "https://a:99999", "https://a:", "https://[::1", "https://a\"",
            "https://::1", "javascript:alert(1)", "https://a/\r\nb",
        ] {
            #expect(WebAddress(wrong) == nil, "\(wrong)")
        }
    }

    @Test func aTokenIsToldToRegisteredPagesOnly() {
        var api = WebAPIToken(scope: WebUser.scope)
        #expect(api.signIn(from: "") == nil && api.signIn(from: "https://a") == nil)
        api.origins = ["https://a", "https://b"]
        #expect(api.signIn(from: "") == .message(origins: ["https://a", "https://b"]))
        #expect(api.signIn(from: "https://b") == .message(origins: ["https://b"]))
        #expect(api.signIn(from: "https://c") == nil)
        api.callback = .redirect("app:in")
        #expect(api.signIn(from: "https://c") == .redirect("app:in"))
    }
}

extension String {
    /// The number of parts between occurrences of a text.
    fileprivate func components(_ text: String) -> Int { split(separator: text).count }
}
