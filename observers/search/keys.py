"""What providers call the fields of a result and the lists they put results in; names are folded, see `fold`."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = [
    "CLUSTERS",
    "DESCRIPTIVE",
    "EMPTY_MARKS",
    "ERRORS",
    "FIELDS",
    "FOREIGN",
    "GROUPS",
    "IMAGE_URLS",
    "KINDS",
    "NAME_KEYS",
    "NO_ADDRESS",
    "NO_WRAPPER",
    "PAGE_MARKS",
    "PANELS",
    "QUERIES",
    "RELATED",
    "SKIPPED",
    "SURE",
    "WRAPPERS",
    "Field",
    "fold",
    "word_set",
]


def fold(name: object) -> str:
    """A field's name without the marks and capitals that providers spell it with."""
    return str(name).replace("_", "").replace("-", "").replace(" ", "").lower()


def word_set(text: str) -> frozenset[str]:
    """The words of a text, as a set."""
    return frozenset(text.split())


class Field:
    """The columns of a row that providers name in many ways."""

    TITLE = "title"
    URL = "url"
    SOURCE = "source"
    DATE = "date"
    SNIPPET = "snippet"
    POSITION = "position"


_NAMES: Mapping[str, str] = {  # the better names come first
    Field.TITLE: (
        "title name headline webtitle heading producttitle question displayname fulltitle displaytitle "
        "titlenoformatting storytitle labelname infobox jobposition jobrole role "
        "alttext alt altdescription shortname longname titledisplay brieftitle label titles"
    ),
    Field.URL: (
        "url link href weburl pageurl articleurl firsturl productlink producturl productpageurl sharelink sharinglink "
        "permalink canonicalurl landingpageurl fullurl hostpageurl patentlink bookingurl googlemapslink website uri "
        "sourceurl entryid storyurl citationuri "
        "applylink applyurl externalurl targeturl finalurl originurl watchurl htmlurl "
        "answerlink questionlink unescapedurl abstracturl absurl contenturl websiteuri googlemapsuri itemweburl page "
        "doi pdfurl"
    ),
    Field.SOURCE: (
        "fulljournalname containertitle journaltitle journalname journal publicationname source sourcename publisher "
        "publication provider sitename site media channel domain displaylink profile "
        "metaurl companyname employername company venue channeltitle channelname newssite "
        "newssource outlet sourcedomain cleanurl hostname subreddit sellername seller merchant store uploader via "
        "publicationinfo author authors creator sourceid answersource authorname authorstring "
        "photographer assignee user"
    ),
    Field.DATE: (
        "publishedat publishedtime publisheddate publishdate datepublished pageage isodate pubdate "
        "webpublicationdate publicationdate published publishedon publishtime publishdatetime publisheddatetime "
        "seendate date dateutc dateposted posteddate postedat createdat createdutc creationdate releasedate uploaddate "
        "timestamp datetime age lastupdated updatedat issued publicationyear year timepublished providerpublishtime "
        "publishedtext publishedtimetext postingdate postedtime listedat datelisted detectedextensions "
        "firstpublicationdate firstpublishyear pubyear publishedonline publishedprint yearpublished"
    ),
    Field.SNIPPET: (
        "snippet description excerpt excerpts snippets highlights summary abstract abstracttext content body text "
        "caption desc "
        "extract trailtext citedtext bodytext selftext storytext passage passages metadescription shortdescription "
        "leadparagraph answer tldr longdescription extrasnippets overview longdesc pagecontent"
    ),
    Field.POSITION: "position rank rankabsolute rankgroup positiononpage pos ranking globalrank index",
}
_SUBJECTS = "job product article video paper news document doc page post story result item event"
_PREFIXED = {  # `job_title` is the title of a job
    Field.TITLE: "title name headline",
    Field.URL: "url link href uri",
    Field.SOURCE: "source publisher",
    Field.DATE: "date postedat postedatdatetimeutc publishedat postedtime postingdate posteddate",
    Field.SNIPPET: "description snippet summary excerpt abstract",
}
FIELDS: Mapping[str, tuple[str, int]] = {
    subject + name: (column, 100 + rank)
    for column, names in _PREFIXED.items()
    for rank, name in enumerate(names.split())
    for subject in _SUBJECTS.split()
} | {name: (column, rank) for column, names in _NAMES.items() for rank, name in enumerate(names.split())}
"""The column of each folded name and how good a name for it this is; 0 is best."""

IMAGE_URLS = (
    "imageurl",
    "image",
    "original",
    "originalurl",
    "contenturl",
    "imgsrc",
    "src",
    "thumbnailurl",
    "thumbnail",
)
NAME_KEYS = (
    "name",
    "title",
    "hostname",
    "displayName",
    "display_name",
    "summary",
    "main",
    "label",
    "host",
    "netloc",
    "username",
    "text",
    "#text",
    "rendered",
)

KINDS: Mapping[str, str] = {
    name: kind
    for kind, names in {
        "web": (
            "organicresults organic webresults webpages web searchresults searchresult relatedtopics blogresults "
            "perspectives"
        ),
        "news": "newsresults news topstories articles newsarticles headlines",
        "web_answer": "citations references groundingchunks annotations",
        "images": "images imageresults imagesresults inlineimages visualmatches imagepack photos",
        "videos": "videos videoresults videosresults inlinevideos shortvideos shortvideoresults shorts shortsresults",
        "shopping": (
            "shoppingresults shopping inlineshopping shoppingads products productresults relatedproducts "
            "immersiveproducts productsites pricing sponsoredproducts featuredproducts popularproducts onlinesellers"
        ),
        "jobs": "jobsresults jobs jobresults joblistings jobpostings vacancies",
        "local": "localresults localpack map places placesresults locations maps mapresults businesses",
        "scholar": "scholar papers scholarresults academicresults recommendedpapers patents",
        "discussions": "discussions discussionsandforums forums forumresults",
        "questions": "relatedquestions peoplealsoask questions faq",
        "events": "eventsresults events",
        "hotels": "properties hotels hotelsresults",
        "finance": "markets stocks stockresults futureschain",
    }.items()
    for name in names.split()
}
"""Keys whose list is a vertical of its own."""

PAGE_MARKS = word_set(
    "organicresults organic newsresults webresults webpages searchmetadata searchinformation searchparameters "
    "searchresults searchresult"
)
"""Keys that only a result page has: with one of them an empty list is an empty page."""

EMPTY_MARKS = word_set(
    "results items hits articles data docs value papers news products jobs videos images places entries matches "
    "jobsresults localresults videoresults imagesresults shoppingresults eventsresults photos feed recommendedpapers"
)
"""Keys whose list, when it is empty, says that a search found nothing."""

PANELS = word_set("knowledgegraph knowledgepanel knowledgecard infobox infoboxes entities")
"""Keys of the panel about the subject of a search."""
RELATED = word_set(
    "relatedsearches relatedqueries relatedsearchterms suggestedsearches suggestions followupquestions followups "
    "relatedquestions searchsuggestions"
)
"""Keys of the further searches that a provider suggests."""

SURE = word_set("organicresults organic newsresults webresults webpages searchresults searchresult citations")
SKIPPED = word_set(
    "relatedsearches pagination serpapipagination menulinks submenulinks sitelinks inlinelinks buttons deepresults "
    "deeplinks filters menuitems thumbnail thumbnails favicon profile metaurl knowledgegraph suggestions "
    "spellingsuggestions searchparameters searchmetadata searchinformation peoplealsosearchfor relatedqueries "
    "highlight stories session remotefileinfo icon refinesearchfilters categories facets topics tools "
    "toolkitconnectionstatuses searchmetadatalinks rankingresponse searchentrypoint usage messages jobhighlights "
    "peoplealsosearch inlinepeoplealsosearchfor coauthors relatedsearchterms suggestedsearches navigation related "
    "contractualrules attributions"
)
WRAPPERS = word_set(
    "result results response data datapreview output content text body value payload message structuredcontent"
)
DESCRIPTIVE = WRAPPERS | word_set(
    "snippet volumeinfo bibjson paper job product book video listing hotel place event attributes property metadata "
    "record"
)
"""Objects inside an item that say what it is."""

ERRORS = ("error", "error_message", "errorMessage", "message")
QUERIES = (
    "query",
    "q",
    "search_query",
    "searchQuery",
    "original",
    "originalQuery",
    "query_displayed",
    "search",
    "keywords",
    "keyword",
    "searchTerms",
    "search_term",
    "term",
)

GROUPS = word_set(
    "items results topics articles shorts tweets stocks questions videos images news products games posts "
    "papers entries"
)
"""Lists inside an item that hold results of their own."""

CLUSTERS = word_set("highlight stories")
"""Lists inside an item that `rows` itself opens."""

NO_WRAPPER = word_set(
    "thumbnail thumbnails image images favicon icon logo profile author owner user channel developer creator provider "
    "publisher publication seller primaryoffer gpscoordinates serpapi pagination metaurl inlinelinks resources "
    "aboutthisresult source venue rating price highlightresult"
)
"""Objects inside an item that describe something else than the result itself."""

NO_ADDRESS = word_set(
    "image img thumb icon logo photo picture avatar serpapi api json cache next prev embed check review posts "
    "feed rss parent author channel download favicon related search media base self license tracking"
)
"""Parts of a name that make an address in a field one of something else than the result."""

FOREIGN = word_set(
    "from to cc bcc subject sender recipient recipients messageid threadid labelids mimetype filename filepath path "
    "sha branch commit repository repo assignee assignees attendees organizer inputschema parameters toolslug "
    "status state priority duedate sizebytes markdown html rawhtml permissions role projectid workspaceid teamid "
    "email phone deployment nodeid tagname draft prerelease fork defaultbranch stargazerscount"
)
"""Fields of mail, files, code, tasks, people and pages that were read: nothing a page of results says of itself."""
