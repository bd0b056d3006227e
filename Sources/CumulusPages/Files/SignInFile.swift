// The files that the pages to sign in at are made of.
//
// Filled and served by the gateway's `SignInHTML` and `SignInPages`.

package enum SignInFile {
    package static let style = PackageResources.page_css
    package static let script = PackageResources.page_js
    package static let formScript = PackageResources.again_js

    package static let page = HTMLTemplate(PackageResources.page_html)
    package static let form = HTMLTemplate(PackageResources.form_html)
    package static let register = HTMLTemplate(PackageResources.register_html)
    package static let password = HTMLTemplate(PackageResources.password_html)
    package static let reset = HTMLTemplate(PackageResources.reset_html)
    package static let brand = HTMLTemplate(PackageResources.brand_html)
    package static let logo = HTMLTemplate(PackageResources.logo_html)
    package static let link = HTMLTemplate(PackageResources.link_html)
    package static let problem = HTMLTemplate(PackageResources.problem_html)
    package static let button = HTMLTemplate(PackageResources.button_html)
    package static let done = HTMLTemplate(PackageResources.done_html)
    package static let passage = HTMLTemplate(PackageResources.passage_html)
    package static let refresh = HTMLTemplate(PackageResources.refresh_html)
    /// Belongs to the root of the node; it needs no file besides.
    package static let root = HTMLTemplate(PackageResources.root_html)
    package static let notice = HTMLTemplate(PackageResources.notice_html)
}
