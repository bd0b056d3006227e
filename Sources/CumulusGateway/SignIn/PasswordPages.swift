// The pages at which users change their passwords, and at which the bearer of an operator's link
// sets a new one. They belong to no app, so nobody is signed in there.
//
//     GET  /sign-in/password          the form
//     POST /sign-in/password          SIGN_IN, CHANGE_PASSWORD; the new session ends at once
//     GET  /sign-in/reset?token=...   the form, whatever the token is
//     POST /sign-in/reset             RESET_PASSWORD
//
// Asked by `HTTPServer` like `SignInPages`. The node decides and counts attempts, as for every
// sign-in, and has one answer for all tokens that are not good. A form needs no state: nobody can
// send it in a user's name without the user's password, or the link.

import Crypto
package import CumulusModel
import CumulusNode
import CumulusPages
import CumulusWire

package struct PasswordPages: WebPages {
    private let door: any WebDoor
    private let site: WebAddress
    private static let change = "/sign-in/password"
    private static let reset = "/sign-in/reset"

    /// - Parameter site: Where browsers reach the node, with what a proxy puts in front of paths.
    package init(_ door: any WebDoor, at site: WebAddress) {
        self.door = door
        self.site = site
    }

    /// The page that takes tokens, behind `?token=`.
    package static func resetURL(at site: WebAddress) -> String { site.text + reset }

    package func isAt(_ path: Substring) -> Bool {
        let path = ownPath(path)
        return path == PasswordPages.change || path == PasswordPages.reset
    }

    /// The path without the prefix that a proxy may add.
    private func ownPath(_ path: Substring) -> Substring {
        guard !site.path.isEmpty, path.hasPrefix(site.path + "/") else { return path }
        return path.dropFirst(site.path.count)
    }

    package func answer(_ request: WebRequest) async -> WebAnswer? {
        let path = request.target.prefix { $0 != "?" }
        guard isAt(path) else { return nil }
        let isChange = ownPath(path) == PasswordPages.change
        switch request.method {
        case "GET", "HEAD":
            let token = WebText.query(of: request.target)["token"] ?? ""
            return isChange ? changeForm(200) : resetForm(200, token)
        case "POST":
            // Browsers say where a form comes from. One of another site could only use up attempts.
            guard ["same-origin", nil].contains(request.headers["sec-fetch-site"]) else {
                return notice(403, "This form was sent by another site.")
            }
            let fields = WebText.fields(of: String(decoding: request.body, as: UTF8.self))
            return isChange ? await change(fields, request) : await reset(fields, request)
        default:
            var answer = notice(405, "This page does not take \(request.method).")
            answer.headers.append(("Allow", "GET, HEAD, POST"))
            return answer
        }
    }

    // MARK: Change

    private func change(_ fields: [String: String], _ request: WebRequest) async -> WebAnswer {
        let name = fields["name"] ?? ""
        guard fields["new"] == fields["again"] else {
            return changeForm(400, name, problem: PasswordPages.differ)
        }
        do {
            try await change(
                of: name,
                from: Bytes((fields["password"] ?? "").utf8),
                to: Bytes((fields["new"] ?? "").utf8),
                request
            )
            return notice(
                200,
                "Your password is changed, and you are signed out everywhere. Go back to your app "
                    + "and sign in with the new one.",
                title: "Done"
            )
        } catch {
            return refused(error) { changeForm($0, name, problem: error.message) }
        }
    }

    /// The user's sessions end with the old password; the one that the change opens ends, too.
    private func change(
        of name: String,
        from old: Bytes,
        to new: Bytes,
        _ request: WebRequest
    ) async throws(ServiceError) {
        let signIn = SignInRequest(name: Bytes(name.utf8), password: old, label: "browser")
        let first = try await session(.accountsSignIn, signIn.encoded(), .nothing, request)
        let change = ChangePasswordRequest(oldPassword: old, newPassword: new, label: "browser")
        let second = try await session(
            .accountsChangePassword,
            change.encoded(),
            .session(digest: first),
            request
        )
        let end = RevokeSessionsRequest(id: second, user: [])
        let calls = try await enter(.session(digest: second), request)
        defer { calls.close() }
        _ = try await calls.read(.accountsRevoke, end.encoded())
    }

    /// Makes a call that opens a session; returns the SHA-256 of its token.
    private func session(
        _ method: Method,
        _ message: Bytes,
        _ proof: LocalEntrance.Proof,
        _ request: WebRequest
    ) async throws(ServiceError) -> Bytes {
        let calls = try await enter(proof, request)
        defer { calls.close() }
        let answer = try await calls.read(method, message)
        guard let opened = try? OpenedSession(wire: answer.first ?? []), !opened.token.isEmpty
        else {
            throw ServiceError(.internalError, "the node's answer holds no session")
        }
        return Bytes(SHA256.hash(data: opened.token))
    }

    private func enter(
        _ proof: LocalEntrance.Proof,
        _ request: WebRequest
    ) async throws(ServiceError) -> any WebCalls {
        try await door.enter(
            LocalEntrance(
                .cluster,
                proof,
                address: request.address,
                isSecret: request.isSecret
            )
        )
    }

    // MARK: Reset

    private func reset(_ fields: [String: String], _ request: WebRequest) async -> WebAnswer {
        let token = fields["token"] ?? ""
        guard fields["new"] == fields["again"] else {
            return resetForm(400, token, problem: PasswordPages.differ)
        }
        let message = ResetPasswordRequest(
            token: Bytes(token.utf8),
            password: Bytes((fields["new"] ?? "").utf8)
        )
        do throws(ServiceError) {
            let calls = try await enter(.nothing, request)
            defer { calls.close() }
            let answer = try await calls.read(.accountsResetPassword, message.encoded())
            let user = (try? ResetPasswordResponse(wire: answer.first ?? []))?.bytes ?? []
            return notice(
                200,
                "The password of \(String(decoding: user, as: UTF8.self)) is set. Go back to your "
                    + "app and sign in with it.",
                title: "Done"
            )
        } catch {
            return refused(error) { resetForm($0, token, problem: error.message) }
        }
    }

    // MARK: Answers

    private static let differ = "The two new passwords differ."

    /// A form with what the node said.
    private func refused(
        _ error: ServiceError,
        _ form: (_ status: Int) -> WebAnswer
    ) -> WebAnswer {
        let code = WebError(error)
        // 401 would make browsers ask for a password themselves.
        var answer = form(error.code == .notAuthenticated ? 403 : code.status)
        if let seconds = code.retryAfter {
            answer.headers.append(("Retry-After", String(seconds)))
        }
        return answer
    }

    private func changeForm(
        _ status: Int,
        _ name: String = "",
        problem: String = ""
    ) -> WebAnswer {
        page(status, SignInHTML.password(name, problem: problem, at: site))
    }

    private func resetForm(_ status: Int, _ token: String, problem: String = "") -> WebAnswer {
        page(status, SignInHTML.reset(token, problem: problem, at: site))
    }

    private func notice(_ status: Int, _ text: String, title: String = "Password") -> WebAnswer {
        page(status, SignInHTML.notice(text, title: title, at: site))
    }

    private func page(_ status: Int, _ html: String) -> WebAnswer {
        WebAnswer(
            status: status,
            headers: SignInHTML.headers("text/html"),
            body: Bytes(html.utf8)
        )
    }
}
