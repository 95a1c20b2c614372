from __future__ import annotations

import pytest

from observers.search.tool_names import Policy, policy_of, reads_pages

# Names of tools of real servers, each judged by hand. A name of capitals is a tool of a Composio toolkit.
SEARCH = """
    WebSearch tools/web_search research-tools/search_web docs/search python/web_search slack/web_search
    microsoft_docs/microsoft_docs_search brave/brave_web_search brave/brave_news_search brave/brave_local_search
    brave/brave_image_search brave/brave_video_search tavily/tavily_search tavily/tavily-search
    tavily-remote/tavily_research exa/web_search_exa exa/web_search_advanced_exa exa/company_research_exa
    exa/people_search_exa exa/linkedin_search_exa exa/research_paper_search_exa exa/deep_search_exa
    exa/find_similar_exa perplexity/perplexity_ask perplexity/perplexity_search perplexity/perplexity_research
    firecrawl/firecrawl_search jina/search_web jina/search_arxiv jina/search_images jina/parallel_search_web
    jina/search_ssrn ddg/search duckduckgo/duckduckgo_web_search searxng/searxng_web_search searxng/web_search
    serper/google_search serpapi/search serpapi/google_news kagi/kagi_search_fetch linkup/linkup-search
    linkup/search-web bing-search/bing_search google/google_search_tool web-search/full-web-search
    web-search/get-web-search-summaries one_search/one_search parallel/web_search_preview you/you-search
    zai/web_search_prime zai/webSearchPrime bocha/bocha_web_search baidu/AIsearch brightdata/search_engine
    brightdata/search_engine_batch dataforseo/serp_organic_live_advanced apify/search_google_maps
    oxylabs/google_search_scraper oxylabs/amazon_search_scraper google_maps/maps_search_places
    google-maps/search_nearby airbnb/airbnb_search youtube/search_videos youtube/videos_searchVideos
    arxiv/search_papers arxiv/search_arxiv pubmed/pubmed_search_articles pubmed/search_pubmed_key_words
    semantic-scholar/search_semantic_scholar semantic-scholar/paper_relevance_search openalex/search_works
    europepmc/search_publications crossref/search_works_by_query wikipedia/search_wikipedia wikipedia/search
    hackernews/search_stories hn/search-items reddit/search_reddit reddit/search_posts jobspy/search_jobs
    indeed/search_jobs aws-docs/search_documentation aws-knowledge/aws___search_documentation
    cloudflare-docs/search_cloudflare_documentation langchain-docs/SearchDocsByLangChain mintlify/search_docs
    hf/hf_doc_search hf/paper_search npm/search_packages unsplash/search_photos COMPOSIO_SEARCH_WEB
    COMPOSIO_SEARCH_NEWS COMPOSIO_SEARCH_TAVILY COMPOSIO_SEARCH_DUCK_DUCK_GO COMPOSIO_SEARCH_SCHOLAR
    COMPOSIO_SEARCH_IMAGE COMPOSIO_SEARCH_HOTELS COMPOSIO_SEARCH_EVENT COMPOSIO_SEARCH_FINANCE
    COMPOSIO_SEARCH_GOOGLE_MAPS COMPOSIO_SEARCH_SHOPPING COMPOSIO_SEARCH_FLIGHTS COMPOSIO_SEARCH_TRENDS
    COMPOSIO_SEARCH_SIMILARLINKS COMPOSIO_SEARCH_AMAZON COMPOSIO_SEARCH_WALMART COMPOSIO_SEARCH_EXA_ANSWER
    TAVILY_SEARCH TAVILY_TAVILY_SEARCH EXA_SEARCH EXA_FIND_SIMILAR EXA_ANSWER SERPAPI_SEARCH SERPAPI_GOOGLE_NEWS
    BRAVE_SEARCH_WEB LINKUP_SEARCH PERPLEXITYAI_PERPLEXITY_AI_SEARCH FIRECRAWL_SEARCH
    REDDIT_SEARCH_ACROSS_SUBREDDITS YOUTUBE_SEARCH_YOU_TUBE HACKERNEWS_SEARCH_POSTS GOOGLE_MAPS_TEXT_SEARCH
    GOOGLE_MAPS_NEARBY_SEARCH NEWS_API_SEARCH_EVERYTHING SEMANTICSCHOLAR_SEARCH_PAPERS SEARCH_API_GOOGLE_SEARCH
    BING_SEARCH_WEB_SEARCH linear/search_documentation stripe/search_stripe_documentation supabase/search_docs
    zread/search_doc ref/ref_search_documentation gitmcp/search_generic_documentation hf/dataset_search
    hf/model_search omnisearch/ai_search omnisearch/kagi_fastgpt_search web-search-prime/webSearchPrime
    minimax/web_search MCP_DOCKER/brave_web_search newsapi/get_everything tmdb/search_movies TWITTER_RECENT_SEARCH
    SPOTIFY_SEARCH_FOR_ITEM search/query web/find news/query google_search/run gmail/web_search db/search_web
"""
PAGES = """
    firecrawl/firecrawl_scrape firecrawl/firecrawl_crawl firecrawl/firecrawl_check_crawl_status
    firecrawl/firecrawl_batch_scrape firecrawl/firecrawl_extract tavily/tavily_extract tavily/tavily-extract
    tavily/tavily_crawl exa/crawling_exa exa/web_fetch_exa exa/get_contents jina/read_url jina/parallel_read_url
    jina/jina_reader web_reader/webReader zai/web_reader fetch/fetch fetch/fetch_markdown fetch/fetch_txt
    fetch/fetch_html fetcher/fetch_url fetcher/fetch_urls brightdata/scrape_as_markdown brightdata/scrape_batch
    brightdata/scrape_as_html crawl4ai/crawl crawl4ai/crawl_url ddg/fetch_content searxng/web_url_read
    linkup/linkup-fetch parallel/web_fetch you/you-contents hyperbrowser/scrape_webpage hyperbrowser/crawl_webpages
    web-search/get-single-web-page-content google/read_webpage google/extract_webpage_content webresearch/visit_page
    microsoft_docs/microsoft_docs_fetch aws-docs/read_documentation cloudflare/get_url_markdown
    markitdown/convert_to_markdown apify/rag-web-browser oxylabs/universal_scraper wikipedia/get_article
    wikipedia/readArticle deepwiki/read_wiki_contents local_toolkit/crawl_parallel omnisearch/tavily_extract_process
    omnisearch/jina_reader_process omnisearch/firecrawl_scrape_process ref/ref_read_url
    gitmcp/fetch_generic_url_content hf/hf_doc_fetch apify/fetch-apify-docs x/webfetch x/browse
    COMPOSIO_SEARCH_FETCH_URL_CONTENT FIRECRAWL_SCRAPE FIRECRAWL_SCRAPE_EXTRACT_DATA_LLM FIRECRAWL_CRAWL
    FIRECRAWL_CRAWL_GET FIRECRAWL_BATCH_SCRAPE TAVILY_EXTRACT TAVILY_CRAWL EXA_GET_CONTENTS_ACTION JINA_READER
    LINKUP_FETCH browser/get_page_text http/fetch_json pdf/read_pdf
"""
NEVER = """
    composio/COMPOSIO_SEARCH_TOOLS composio/COMPOSIO_MANAGE_CONNECTIONS composio/COMPOSIO_GET_TOOL_SCHEMAS
    composio/COMPOSIO_WAIT_FOR_CONNECTIONS composio/COMPOSIO_REMOTE_WORKBENCH composio/COMPOSIO_REMOTE_BASH_TOOL
    local_toolkit/list_directory local_toolkit/read_local_file local_toolkit/knowledge_search
    local_toolkit/knowledge_read local_toolkit/knowledge_sources Bash Read Grep Glob ToolSearch Agent WebFetch
    firecrawl/firecrawl_map tavily/tavily_map FIRECRAWL_MAP_MULTIPLE_URLS_BASED_ON_OPTIONS TAVILY_MAP
    github/search_repositories github/search_code github/search_issues github/search_users github/list_commits
    github/search_pull_requests github-trending/get_trending_projects gitlab/search_repositories gitlab/search
    notion/notion-search notion/API-post-search notion/search slack/slack_search_messages slack/search_messages
    slack/search slack/conversations_search_messages linear/search_issues linear/list_issues jira/jira_search
    jira/searchJiraIssuesUsingJql atlassian/confluence_search atlassian/search_confluence_pages gmail/search_emails
    gmail/search gmail/search_threads outlook/search_messages filesystem/search_files filesystem/search
    filesystem/read_text_file memory/search_nodes memory/open_nodes memory/read_graph qdrant/qdrant-find
    pinecone/search-records chroma/chroma_query_documents sqlite/read_query sqlite/list_tables postgres/query
    postgres/execute_sql mysql/mysql_query mongodb/find mongodb/aggregate elasticsearch/search
    redis/vector_search_hash neo4j/read_neo4j_cypher supabase/execute_sql bigquery/query bigquery/execute_sql
    bigquery/search_catalog snowflake/run_query snowflake/run_snowflake_query databricks/execute_sql_query
    clickhouse/run_select_query duckdb/query db/query sf/run_soql_query salesforce/query
    salesforce/salesforce_search_all salesforce/search hubspot/hubspot-search-objects hubspot/search_contacts
    excel/get_rows airtable/search_records airtable/list_records sentry/search_issues sentry/search_events
    sentry/find_organizations sentry/search_issue_events sentry/list_issues datadog/search_logs datadog/get_metrics
    grafana/search_dashboards grafana/query_loki_logs pagerduty/list_incidents zendesk/search intercom/search
    stripe/search_stripe_resources asana/asana_search_tasks clickup/clickup_search google_calendar/search_events
    gdrive/search gdrive/gdrive_search google_workspace/search_docs google_docs/search google_drive/search_photos
    todoist/search obsidian/obsidian_simple_search playwright/browser_snapshot playwright/browser_take_screenshot
    browserbase/browserbase_stagehand_extract puppeteer/puppeteer_screenshot mcp/search_tools registry/tool_search
    python/run_python sandbox/execute claude_ai_Gmail/search_threads plugin_github_github/search_code
    desktop-commander/start_search desktop-commander/get_more_search_results serena/search_for_pattern
    serena/find_symbol ripgrep/search grep/searchGitHub sourcegraph/keyword_search mem0/search_memories
    openmemory/search_memory basic-memory/search graphiti/search_nodes graphiti/search_facts n8n/search_nodes
    home-assistant/search_entities meilisearch/search typesense/search ms365/search-query imessage/search_messages
    granola/search_meetings fireflies/fireflies_search gsc/search_analytics google_analytics/run_report
    GOOGLE_ANALYTICS_RUN_REPORT google-ads/search claude/conversation_search claude/recent_chats
    servicenow/search_records GOOGLE_SEARCH_CONSOLE_SEARCH_ANALYTICS_QUERY ALGOLIA_SEARCH_INDEX BASEROW_LIST_ROWS
    KLAVIYO_GET_PROFILES MAILCHIMP_SEARCH_MEMBERS SERVICENOW_SEARCH_INCIDENTS SMARTSHEET_SEARCH WRIKE_GET_TASKS
    GMAIL_FETCH_EMAILS GMAIL_SEARCH_EMAILS GMAIL_SEND_EMAIL SLACK_SEARCH_MESSAGES SLACK_FIND_CHANNELS
    OUTLOOK_SEARCH_MESSAGES NOTION_SEARCH_NOTION_PAGE NOTION_FETCH_DATABASE GOOGLEDRIVE_FIND_FILE
    GOOGLEDOCS_SEARCH_DOCUMENTS GOOGLESHEETS_BATCH_GET GOOGLECALENDAR_FIND_EVENT LINEAR_SEARCH_ISSUES
    JIRA_SEARCH_ISSUES GITHUB_SEARCH_REPOSITORIES GITHUB_FIND_REPOSITORIES HUBSPOT_SEARCH_CONTACTS_BY_CRITERIA
    SALESFORCE_RUN_SOQL_QUERY SALESFORCE_SEARCH_RECORDS AIRTABLE_LIST_RECORDS SUPABASE_BETA_RUN_SQL_QUERY
    BIGQUERY_QUERY GOOGLEBIGQUERY_QUERY SNOWFLAKE_EXECUTE_SQL ZENDESK_SEARCH_TICKETS INTERCOM_SEARCH_CONVERSATIONS
    SENTRY_FETCH_PROJECT_ISSUES SENTRY_GET_ORGANIZATION_ISSUE_DETAILS STRIPE_SEARCH_CUSTOMERS APOLLO_PEOPLE_SEARCH
    DROPBOX_SEARCH_FILE_OR_FOLDER ONE_DRIVE_SEARCH_ITEMS ASANA_SEARCH_TASKS_IN_WORKSPACE CLICKUP_GET_TASKS
    TODOIST_GET_ALL_TASKS CONFLUENCE_SEARCH_CONTENT DATADOG_SEARCH_LOGS POSTHOG_QUERY MONDAY_GET_ITEMS
    DISCORDBOT_SEARCH_GUILD_MESSAGES PIPEDRIVE_SEARCH_PERSONS FIGMA_GET_FILE_JSON SHAREPOINT_SEARCH_QUERY
    sales/search_leads slack_search/search db/search github_docs/search
"""
BY_RESULT = """
    composio/COMPOSIO_MULTI_EXECUTE_TOOL context7/resolve-library-id context7/query-docs context7/get-library-docs
    unheard_of/do_it hackernews/get_top_stories hackernews/getStories reddit/get_subreddit_hot_posts
    youtube/get_transcript yfinance/get_stock_info alphavantage/TIME_SERIES_DAILY google_maps/maps_directions
    rss/get_feed news/get_headlines news/fetch_latest_news exa/deep_researcher_start exa/deep_researcher_check
    linkup/list_sources composio/trim_video deepwiki/ask_question wikipedia/get_summary weather/get_forecast
    GOOGLE_MAPS_GET_DIRECTION YOUTUBE_LIST_CHANNEL_VIDEOS HACKERNEWS_GET_FRONTPAGE REDDIT_RETRIEVE_REDDIT_POST
    TWITTER_USER_LOOKUP_ME LINKEDIN_GET_MY_INFO SPOTIFY_GET_PLAYLIST SHOPIFY_GET_PRODUCTS WEATHERMAP_WEATHER
    ALPHA_VANTAGE_NEWS_SENTIMENT PEOPLEDATALABS_ENRICH_PERSON rss/fetch_feed image/fetch_image http/get
    google_search_console/list_sites browser/navigate
"""


def named(names: str) -> list[str]:
    """The names as the agent has them."""
    return [f"mcp__{name.replace('/', '__')}" if "/" in name else name for name in names.split()]


@pytest.mark.parametrize(
    ("names", "policy", "pages"),
    [
        (SEARCH, Policy.SEARCH, False),
        (PAGES, Policy.NEVER, True),
        (NEVER, Policy.NEVER, False),
        (BY_RESULT, Policy.UNKNOWN, False),
    ],
    ids=["search", "pages", "never", "by result"],
)
def test_what_the_names_of_real_tools_say(names: str, policy: Policy, pages: bool) -> None:
    wrong = {
        name: (policy_of(name).name, reads_pages(name))
        for name in named(names)
        if (policy_of(name), reads_pages(name)) != (policy, pages)
    }
    assert wrong == {}
