// The answer at the root of a node: a browser is led to the console, and other programs are told
// where what is.
//
// Asked by `HTTPServer` like the other pages. It says nothing that the paths don't say themselves.

import CumulusModel
import CumulusPages

package struct RootPage: WebPages {
    private let hasConsole: Bool
    private let hasSignIn: Bool

    /// - Parameters:
    ///   - hasConsole: The node serves /console.
    ///   - hasSignIn: Users can sign in at /sign-in.
    package init(hasConsole: Bool, hasSignIn: Bool) {
        self.hasConsole = hasConsole
        self.hasSignIn = hasSignIn
    }

    package func isAt(_ path: Substring) -> Bool { path == "/" }

    package func answer(_ request: WebRequest) async -> WebAnswer? {
        guard isAt(request.target.prefix { $0 != "?" }) else { return nil }
        guard request.method == "GET" || request.method == "HEAD" else {
            let body = Bytes("/ takes GET, not \(request.method)\n".utf8)
            return RootPage.answer(405, "text/plain", body, [("Allow", "GET, HEAD")])
        }
        if RootPage.wantsJSON(request.headers["accept"] ?? "") {
            return RootPage.answer(200, "application/json", Bytes((json.text + "\n").utf8))
        }
        if hasConsole {
            return RootPage.answer(302, "text/plain", [], [("Location", "/console")])
        }
        let page = SignInFile.root.filled(["services": HTML(RootPage.services)])
        return RootPage.answer(200, "text/html", Bytes(page.text.utf8))
    }

    /// Where a request of web services begins, and what follows there.
    private static let services = "/database/1/CONTAINER/ENVIRONMENT/DATABASE/ENDPOINT"

    /// Browsers name HTML; a program that names JSON and no HTML gets JSON.
    private static func wantsJSON(_ accept: String) -> Bool {
        let types = accept.lowercased()
        return types.contains("application/json") && !types.contains("text/html")
    }

    private var json: JSON {
        [
            "software": "Cumulus", "webServices": .string(RootPage.services),
            "console": hasConsole ? "/console" : .null,
            "signIn": hasSignIn ? "/sign-in" : .null, "isReady": "/readyz",
            "articles": .array(["WebServices", "ForTheWeb"]),
        ]
    }

    private static func answer(
        _ status: Int,
        _ type: String,
        _ body: Bytes,
        _ more: [(name: String, value: String)] = []
    ) -> WebAnswer {
        let headers = [
            (name: "Content-Type", value: "\(type); charset=utf-8"),
            (
                name: "Content-Security-Policy",
                value: "default-src 'none'; frame-ancestors 'none'; base-uri 'none'"
            ), (name: "X-Content-Type-Options", value: "nosniff"),
            (name: "Referrer-Policy", value: "no-referrer"),
            // The answer depends on what is accepted.
            (name: "Vary", value: "Accept"), (name: "Cache-Control", value: "no-store"),
        ]
        return WebAnswer(status: status, headers: headers + more, body: body)
    }
}
