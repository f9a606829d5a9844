// biome-ignore-all format: recorded by test/reference/examples.test.ts, which vitest -u writes anew
import type { OperationId } from '../api/operations/table.js'
import type { EventName } from '../api/webhooks/events.js'

/** A request, its path parameters and query among the fields, and what the engine answered. */
export interface Example {
  readonly request: Readonly<Record<string, unknown>>
  readonly reply: unknown
}

/** A success of every operation, recorded from the engine over the sample data. */
export const examples: Readonly<Record<OperationId, Example>> = {
  "accounts.extract": {
    "request": {
      "search_url": "https://www.network.example/sales/search/company?query=(keywords:coffee)",
      "name": "Coffee",
      "webhook_url": "https://hooks.example/prospect",
      "limit": 2,
      "custom": {
        "campaign": "spring"
      }
    },
    "reply": {
      "message": {
        "id": "2f1f7c7e-0000-4000-8000-000000000001",
        "import_name": "Coffee",
        "import_url": "https://www.network.example/sales/search/company?query=(keywords:coffee)",
        "created_at": "2026-03-10T12:00:01.000Z",
        "limit": 2,
        "custom": {
          "campaign": "spring"
        }
      }
    }
  },
  "accounts.search": {
    "request": {
      "keyword": "coffee AND NOT books",
      "company_size": [
        "1001-5000"
      ],
      "webhook_url": "https://hooks.example/prospect"
    },
    "reply": {
      "message": "Import started",
      "id": "2f1f7c7e-0000-4000-8000-000000000002",
      "total": 1,
      "preview": [
        {
          "company_name": "Café Méridien S.A.",
          "industry": "Food and Beverage Manufacturing",
          "network_id": "900006",
          "network_url": "https://www.network.example/company/cafe-meridien"
        }
      ]
    }
  },
  "accounts.search_preview": {
    "request": {
      "keyword": "coffee AND NOT books",
      "company_size": [
        "1001-5000"
      ]
    },
    "reply": {
      "total_count": 1,
      "preview": [
        {
          "company_name": "Café Méridien S.A.",
          "industry": "Food and Beverage Manufacturing",
          "network_id": "900006",
          "network_url": "https://www.network.example/company/cafe-meridien"
        }
      ]
    }
  },
  "accounts.enrich": {
    "request": {
      "domain": "acme-robotics.example"
    },
    "reply": {
      "id": "2f1f7c7e-0000-4000-8000-000000000003",
      "name": "Acme Robotics GmbH",
      "cleaned_name": "Acme Robotics",
      "domain": "acme-robotics.example",
      "website": "https://www.acme-robotics.example/",
      "description": "Robot arms for small factories.",
      "industry": "Industrial Machinery Manufacturing",
      "industry_id": "135",
      "company_type": "Private",
      "employee_range": "201-500",
      "headcount": 420,
      "headquarters": "München, Germany",
      "location": "München, Germany",
      "city": "München",
      "country": "DE",
      "founded_year": 1998,
      "revenue": 63000000,
      "revenue_currency": "EUR",
      "phone": null,
      "network_id": "900001",
      "network_url": "https://www.network.example/company/acme-robotics",
      "company_profile_picture": null,
      "technologies": [
        "c++",
        "kubernetes",
        "sap"
      ]
    }
  },
  "accounts.count_profiles": {
    "request": {
      "company_network_url": "https://www.network.example/company/acme-robotics",
      "title_to_include": [
        "Operations"
      ]
    },
    "reply": {
      "total": 1,
      "title_to_include": [
        "Operations"
      ],
      "title_to_exclude": [],
      "included_locations": [],
      "excluded_locations": []
    }
  },
  "accounts.headcount": {
    "request": {
      "company_domain": "acme-robotics.example",
      "departments": [
        "Sales"
      ]
    },
    "reply": {
      "All": {
        "current_headcount": 420,
        "3_months_evolution": {
          "base_headcount": 426,
          "current_headcount": 420,
          "headcount_gain": -6,
          "headcount_gain_percentage": -1
        },
        "6_months_evolution": {
          "base_headcount": 432,
          "current_headcount": 420,
          "headcount_gain": -12,
          "headcount_gain_percentage": -3
        },
        "12_months_evolution": {
          "base_headcount": 445,
          "current_headcount": 420,
          "headcount_gain": -25,
          "headcount_gain_percentage": -6
        }
      },
      "Sales": {
        "current_headcount": 84,
        "3_months_evolution": {
          "base_headcount": 85,
          "current_headcount": 84,
          "headcount_gain": -1,
          "headcount_gain_percentage": -1
        },
        "6_months_evolution": {
          "base_headcount": 86,
          "current_headcount": 84,
          "headcount_gain": -2,
          "headcount_gain_percentage": -2
        },
        "12_months_evolution": {
          "base_headcount": 89,
          "current_headcount": 84,
          "headcount_gain": -5,
          "headcount_gain_percentage": -6
        }
      }
    }
  },
  "accounts.hiring": {
    "request": {
      "company_domain": "acme-robotics.example",
      "limit": 1
    },
    "reply": {
      "total_jobs": 3,
      "truncated": false,
      "jobs": [
        {
          "job_title": "Accountant",
          "job_url": "https://jobs.acme-robotics.example/openings/1",
          "job_location": "München, Germany",
          "country_code": "DE",
          "employment_statuses": [
            "Internship"
          ],
          "date_posted": "2025-12-06",
          "description": "Acme Robotics GmbH is hiring in München: Accountant. You will work with Intercom in a team of 5 people and report to the head of the department. We offer 27 days of leave, a training budget and 3 days at home each week. You bring 7 years of experience, write clearly and like to finish what you start…",
          "hiring_team": [],
          "company": {
            "name": "Acme Robotics GmbH",
            "domain": "acme-robotics.example",
            "network_url": "https://www.network.example/company/acme-robotics"
          }
        }
      ]
    }
  },
  "accounts.stack": {
    "request": {
      "company_domain": "acme-robotics.example"
    },
    "reply": {
      "technologies": [
        "C++",
        "SAP",
        "Kubernetes"
      ],
      "technologies_with_confidence": [
        {
          "name": "C++",
          "slug": "c++",
          "confidence": 0.5
        },
        {
          "name": "SAP",
          "slug": "sap",
          "confidence": 0.3
        },
        {
          "name": "Kubernetes",
          "slug": "kubernetes",
          "confidence": 0.2
        }
      ]
    }
  },
  "accounts.technologies": {
    "request": {
      "query": "react"
    },
    "reply": {
      "technologies": [
        {
          "slug": "react",
          "name": "React",
          "category": "Frontend"
        },
        {
          "slug": "react-native",
          "name": "React Native",
          "category": "Mobile"
        }
      ]
    }
  },
  "leads.extract": {
    "request": {
      "search_url": "https://www.network.example/search/results/people/?keywords=Robotics",
      "name": "Robotics",
      "webhook_url": "https://hooks.example/prospect",
      "limit": 2,
      "custom": {
        "campaign": "spring"
      }
    },
    "reply": {
      "id": "2f1f7c7e-0000-4000-8000-000000000004",
      "status": "processing"
    }
  },
  "leads.advanced_search": {
    "request": {
      "job_titles": [
        "Head of Sales"
      ],
      "company_size": [
        "201-500"
      ],
      "name": "Heads of sales",
      "webhook_url": "https://hooks.example/prospect",
      "limit": 2,
      "scale": true
    },
    "reply": {
      "message": {
        "id": "2f1f7c7e-0000-4000-8000-000000000005",
        "search_name": "Heads of sales",
        "search_url": "https://www.network.example/sales/search/people?query=(filters%3AList((type%3ACURRENT_TITLE%2Cvalues%3AList((text%3AHead%2520of%2520Sales%2CselectionType%3AINCLUDED)))%2C(type%3ACOMPANY_HEADCOUNT%2Cvalues%3AList((id%3AE%2Ctext%3A201-500%2CselectionType%3AINCLUDED)))))",
        "expected_profiles_count": 2,
        "created_at": "2026-03-10T12:00:04.000Z"
      }
    }
  },
  "leads.advanced_search_preview": {
    "request": {
      "last_name": "Hertel"
    },
    "reply": {
      "total_count": 2,
      "preview": [
        {
          "full_name": "Lenya Hertel",
          "headline": "Director of Operations at Acme Robotics GmbH",
          "current_company": "Acme Robotics GmbH",
          "current_title": "Director of Operations",
          "network_id": "ACoAAnHzKoJkGVB0TSGWQBTVCgrqn",
          "profile_url": "https://www.network.example/in/lenya-hertel-0000"
        },
        {
          "full_name": "Sean Hertel",
          "headline": "Account Executive at Astra Care GmbH & Co. KG",
          "current_company": "Astra Care GmbH & Co. KG",
          "current_title": "Account Executive",
          "network_id": "ACoAAsGbpJiWl7Tj75tbkV8TBbGsv",
          "profile_url": "https://www.network.example/in/sean-hertel-03ax"
        }
      ]
    }
  },
  "leads.search": {
    "request": {
      "company_domain": "acme-robotics.example",
      "persona_id": "2f1f7c7e-0000-4000-8000-000000000006",
      "live": false
    },
    "reply": {
      "id": "2f1f7c7e-0000-4000-8000-000000000007",
      "search_name": "People at Acme Robotics GmbH - API - 10/03/2026 12:00",
      "search_url": null,
      "created_at": "2026-03-10T12:00:34.000Z"
    }
  },
  "leads.enrich": {
    "request": {
      "first_name": "Lenya",
      "last_name": "Hertel",
      "domain": "acme-robotics.example"
    },
    "reply": {
      "id": "2f1f7c7e-0000-4000-8000-000000000008",
      "status": "QUALIFIED",
      "first_name": "Lenya",
      "last_name": "Hertel",
      "full_name": "Lenya Hertel",
      "title": "Director of Operations",
      "headline": "Director of Operations at Acme Robotics GmbH",
      "summary": null,
      "seniority": "Director",
      "function": "Operations",
      "location": "München, Germany",
      "city": "München",
      "country": "DE",
      "connections_count": 424,
      "company_name": "Acme Robotics GmbH",
      "company_domain": "acme-robotics.example",
      "current_position": {
        "title": "Director of Operations",
        "company_name": "Acme Robotics GmbH",
        "company_network_id": "900001",
        "started_at": "2023-08-15"
      },
      "years_in_position": 2,
      "months_in_position": 6,
      "years_in_company": 2,
      "months_in_company": 6,
      "network_id": "ACoAAnHzKoJkGVB0TSGWQBTVCgrqn",
      "network_profile_url": "https://www.network.example/in/lenya-hertel-0000",
      "premium_profile_url": null,
      "profile_image_url": null,
      "most_probable_email": "lenya.hertel@acme-robotics.example",
      "most_probable_email_status": "valid",
      "phones": [
        "+493023125233"
      ]
    }
  },
  "contacts.enrich": {
    "request": {
      "firstname": "Lenya",
      "lastname": "Hertel",
      "domain": "acme-robotics.example",
      "enrichment_type": [
        "email"
      ],
      "webhook_url": "https://hooks.example/prospect",
      "custom": {
        "campaign": "spring"
      }
    },
    "reply": {
      "enrichment_id": "2f1f7c7e-0000-4000-8000-000000000009",
      "first_name": "Lenya",
      "last_name": "Hertel",
      "status": "pending",
      "custom": {
        "campaign": "spring"
      }
    }
  },
  "contacts.enrich_sync": {
    "request": {
      "network_url": "https://www.network.example/in/lenya-hertel-0000",
      "enrichment_type": [
        "email",
        "personal_email",
        "phone"
      ]
    },
    "reply": {
      "enrichment_id": "2f1f7c7e-0000-4000-8000-000000000010",
      "first_name": "Lenya",
      "last_name": "Hertel",
      "network_profile_url": "https://www.network.example/in/lenya-hertel-0000",
      "status": "finished",
      "email": "lenya.hertel@acme-robotics.example",
      "email_status": "valid",
      "personal_email": "lenya.hertel66@mailbox.example",
      "personal_email_status": "valid",
      "phone": [
        "+493023125233"
      ],
      "phone_details": [
        {
          "number": "+493023125233",
          "type": "fixed_line",
          "country_code": "DE"
        }
      ],
      "credits_used": 36
    }
  },
  "contacts.bulk_enrich": {
    "request": {
      "contacts": [
        {
          "firstname": "Lenya",
          "lastname": "Hertel",
          "domain": "acme-robotics.example"
        },
        {
          "network_url": "https://www.network.example/in/lenya-hertel-0000",
          "custom": {
            "row": 2
          }
        }
      ],
      "enrichment_type": [
        "email"
      ],
      "webhook_url": "https://hooks.example/prospect"
    },
    "reply": {
      "enrichment_id": "2f1f7c7e-0000-4000-8000-000000000011",
      "contacts": [
        {
          "enrichment_id": "2f1f7c7e-0000-4000-8000-000000000012"
        },
        {
          "enrichment_id": "2f1f7c7e-0000-4000-8000-000000000013",
          "custom": {
            "row": 2
          }
        }
      ]
    }
  },
  "contacts.get": {
    "request": {
      "id": "2f1f7c7e-0000-4000-8000-000000000011"
    },
    "reply": {
      "enrichment_id": "2f1f7c7e-0000-4000-8000-000000000011",
      "status": "finished",
      "total": 2,
      "finished": 2,
      "contacts": [
        {
          "enrichment_id": "2f1f7c7e-0000-4000-8000-000000000012",
          "first_name": "Lenya",
          "last_name": "Hertel",
          "network_profile_url": "https://www.network.example/in/lenya-hertel-0000",
          "status": "finished",
          "email": "lenya.hertel@acme-robotics.example",
          "email_status": "valid",
          "credits_used": 3
        },
        {
          "enrichment_id": "2f1f7c7e-0000-4000-8000-000000000013",
          "first_name": "Lenya",
          "last_name": "Hertel",
          "network_profile_url": "https://www.network.example/in/lenya-hertel-0000",
          "status": "finished",
          "email": "lenya.hertel@acme-robotics.example",
          "email_status": "valid",
          "credits_used": 3,
          "custom": {
            "row": 2
          }
        }
      ]
    }
  },
  "contacts.get_enrichment": {
    "request": {
      "id": "2f1f7c7e-0000-4000-8000-000000000009"
    },
    "reply": {
      "enrichment_id": "2f1f7c7e-0000-4000-8000-000000000009",
      "first_name": "Lenya",
      "last_name": "Hertel",
      "network_profile_url": "https://www.network.example/in/lenya-hertel-0000",
      "status": "finished",
      "email": "lenya.hertel@acme-robotics.example",
      "email_status": "valid",
      "credits_used": 3,
      "custom": {
        "campaign": "spring"
      }
    }
  },
  "contacts.reverse_lookup": {
    "request": {
      "email": "lenya.hertel@acme-robotics.example"
    },
    "reply": {
      "id": "2f1f7c7e-0000-4000-8000-000000000008",
      "status": "QUALIFIED",
      "first_name": "Lenya",
      "last_name": "Hertel",
      "full_name": "Lenya Hertel",
      "title": "Director of Operations",
      "headline": "Director of Operations at Acme Robotics GmbH",
      "summary": null,
      "seniority": "Director",
      "function": "Operations",
      "location": "München, Germany",
      "city": "München",
      "country": "DE",
      "connections_count": 424,
      "company_name": "Acme Robotics GmbH",
      "company_domain": "acme-robotics.example",
      "current_position": {
        "title": "Director of Operations",
        "company_name": "Acme Robotics GmbH",
        "company_network_id": "900001",
        "started_at": "2023-08-15"
      },
      "years_in_position": 2,
      "months_in_position": 6,
      "years_in_company": 2,
      "months_in_company": 6,
      "network_id": "ACoAAnHzKoJkGVB0TSGWQBTVCgrqn",
      "network_profile_url": "https://www.network.example/in/lenya-hertel-0000",
      "premium_profile_url": null,
      "profile_image_url": null,
      "most_probable_email": "lenya.hertel@acme-robotics.example",
      "most_probable_email_status": "valid",
      "phones": [
        "+493023125233"
      ]
    }
  },
  "intents.hiring": {
    "request": {
      "selected_titles": [
        "VP Engineering"
      ],
      "included_industries": [
        "96"
      ],
      "limit": 1,
      "webhook_url": "https://hooks.example/prospect"
    },
    "reply": {
      "id": "2f1f7c7e-0000-4000-8000-000000000014",
      "preview_count": 3,
      "message": "Import started"
    }
  },
  "intents.stack": {
    "request": {
      "stacks": [
        "react",
        "kubernetes"
      ],
      "stack_match": "and",
      "limit": 1,
      "webhook_url": "https://hooks.example/prospect"
    },
    "reply": {
      "id": "2f1f7c7e-0000-4000-8000-000000000015",
      "total_count": 6,
      "message": "Import started"
    }
  },
  "intents.stack_preview": {
    "request": {
      "stacks": [
        "c++"
      ],
      "countries": [
        "DE"
      ],
      "company_size": [
        "201-500"
      ]
    },
    "reply": {
      "total_count": 2,
      "preview": [
        {
          "name": "O•••",
          "domain": "o•••",
          "website": "o•••",
          "industry": "Financial Services",
          "location": "Hamburg, DE",
          "city": "Hamburg",
          "country": "DE",
          "network_url": "n•••",
          "technologies_found": [
            {
              "technology_name": "C++",
              "job_mentions": 32,
              "confidence": "medium"
            }
          ]
        },
        {
          "name": "A•••",
          "domain": "a•••",
          "website": "a•••",
          "industry": "Industrial Machinery Manufacturing",
          "location": "München, DE",
          "city": "München",
          "country": "DE",
          "network_url": "n•••",
          "technologies_found": [
            {
              "technology_name": "C++",
              "job_mentions": 29,
              "confidence": "medium"
            }
          ]
        }
      ]
    }
  },
  "intents.growth": {
    "request": {
      "min_headcount_growth_percentage": 10,
      "company_size": [
        "10001+"
      ],
      "industries": [
        "Automotive"
      ],
      "limit": 1,
      "webhook_url": "https://hooks.example/prospect"
    },
    "reply": {
      "message": "Import started",
      "id": "2f1f7c7e-0000-4000-8000-000000000016",
      "total": 3,
      "preview": [
        {
          "company_name": "Kinoshita Motors 株式会社",
          "industry": "Automotive",
          "network_id": "900013",
          "network_url": "https://www.network.example/company/kinoshita"
        },
        {
          "company_name": "Ocean Systems Ltd",
          "industry": "Automotive",
          "network_id": "1000427",
          "network_url": "https://www.network.example/company/ocean-systems"
        },
        {
          "company_name": "Lumen Partners GmbH & Co. KG",
          "industry": "Automotive",
          "network_id": "1000472",
          "network_url": "https://www.network.example/company/lumen-partners"
        }
      ]
    }
  },
  "intents.lookalikes": {
    "request": {
      "company_network_url": "https://www.network.example/company/acme-robotics",
      "company_size": [
        "201-500"
      ],
      "limit": 1,
      "webhook_url": "https://hooks.example/prospect"
    },
    "reply": {
      "message": "Import started",
      "id": "2f1f7c7e-0000-4000-8000-000000000017",
      "total": 3,
      "preview": [
        {
          "company_name": "Verde Biotech B.V.",
          "industry": "Industrial Machinery Manufacturing",
          "network_id": "1000162",
          "network_url": "https://www.network.example/company/verde-biotech"
        },
        {
          "company_name": "Spruce Robotics AB",
          "industry": "Industrial Machinery Manufacturing",
          "network_id": "1000424",
          "network_url": "https://www.network.example/company/spruce-robotics"
        },
        {
          "company_name": "Rocher Energy",
          "industry": "Industrial Machinery Manufacturing",
          "network_id": "1000074",
          "network_url": "https://www.network.example/company/rocher-energy"
        }
      ]
    }
  },
  "intents.post_engagers": {
    "request": {
      "post_url": "https://www.network.example/posts/7000001",
      "engagement": "comments",
      "limit": 2,
      "webhook_url": "https://hooks.example/prospect"
    },
    "reply": {
      "message": "Import started",
      "id": "2f1f7c7e-0000-4000-8000-000000000018",
      "total": 2,
      "preview": [
        {
          "full_name": "Darren Schinner",
          "headline": "Office Manager at River Payments Ltée",
          "current_company": "River Payments Ltée",
          "current_title": "Office Manager",
          "network_id": "ACoAA1HdD9WKlmXWEMIrCVj1oJa45",
          "profile_url": "https://www.network.example/in/darren-schinner-00nw"
        },
        {
          "full_name": "Riley Vermeulen",
          "headline": "Data Engineer at Opal Partners B.V.",
          "current_company": "Opal Partners B.V.",
          "current_title": "Data Engineer",
          "network_id": "ACoAAE9l7MqUp15JEjq2xnHF1mwo2",
          "profile_url": "https://www.network.example/in/riley-vermeulen-03a6"
        }
      ]
    }
  },
  "messenger.validate": {
    "request": {
      "phone_numbers": [
        "+493023125233",
        "+12125550107"
      ]
    },
    "reply": {
      "results": [
        {
          "phone_number": "+493023125233",
          "reachable": false,
          "checked_at": "2026-03-10T12:00:26.000Z"
        },
        {
          "phone_number": "+12125550107",
          "reachable": true,
          "checked_at": "2026-03-10T12:00:26.000Z"
        }
      ]
    }
  },
  "searches.list": {
    "request": {
      "per_page": 1
    },
    "reply": {
      "searches": [
        {
          "id": "2f1f7c7e-0000-4000-8000-000000000018",
          "name": "Post engagers - API - 10/03/2026 12:00",
          "leads_count": 2,
          "created_at": "2026-03-10T12:00:11.000Z"
        }
      ],
      "pagination": {
        "per_page": 1,
        "total_count": 3,
        "has_more": true,
        "page": 1,
        "next_cursor": "kC3vZg0xQm5leHQ"
      }
    }
  },
  "searches.get": {
    "request": {
      "id": "2f1f7c7e-0000-4000-8000-000000000004",
      "per_page": 1
    },
    "reply": {
      "search": {
        "id": "2f1f7c7e-0000-4000-8000-000000000004",
        "name": "Robotics",
        "leads_count": 2,
        "created_at": "2026-03-10T12:00:03.000Z",
        "status": "FINISHED",
        "truncated": false
      },
      "leads": [
        {
          "lead": {
            "first_name": "Lenya",
            "last_name": "Hertel",
            "full_name": "Lenya Hertel",
            "gender": null,
            "title": "Director of Operations",
            "title_description": null,
            "summary": null,
            "most_probable_email": "lenya.hertel@acme-robotics.example",
            "most_probable_email_status": "valid",
            "phones": [
              "+493023125233"
            ],
            "network_profile_url": "https://www.network.example/in/lenya-hertel-0000",
            "premium_profile_url": null,
            "profile_image_url": null,
            "is_premium_network": true,
            "is_open_profile_network": false,
            "is_open_to_work_network": false,
            "connection_degree": null,
            "connections_count": 424,
            "current_positions_count": 1,
            "years_in_position": 2,
            "months_in_position": 6,
            "years_in_company": 2,
            "months_in_company": 6,
            "status": "QUALIFIED",
            "rejection_reason": [],
            "headline": "Director of Operations at Acme Robotics GmbH"
          },
          "company": {
            "id": "2f1f7c7e-0000-4000-8000-000000000003",
            "name": "Acme Robotics GmbH",
            "cleaned_name": "Acme Robotics",
            "domain": "acme-robotics.example",
            "website": "https://www.acme-robotics.example/",
            "description": "Robot arms for small factories.",
            "industry": "Industrial Machinery Manufacturing",
            "industry_id": "135",
            "company_type": "Private",
            "employee_range": "201-500",
            "headcount": 420,
            "headquarters": "München, Germany",
            "location": "München, Germany",
            "city": "München",
            "country": "DE",
            "founded_year": 1998,
            "revenue": 63000000,
            "revenue_currency": "EUR",
            "phone": null,
            "network_id": "900001",
            "network_url": "https://www.network.example/company/acme-robotics",
            "company_profile_picture": null,
            "technologies": [
              "c++",
              "kubernetes",
              "sap"
            ]
          }
        }
      ],
      "pagination": {
        "per_page": 1,
        "total_count": 2,
        "has_more": true,
        "page": 1,
        "next_cursor": "kC3vZg0xQm5leHQ"
      }
    }
  },
  "lists.create": {
    "request": {
      "name": "Robots",
      "companies": [
        {
          "domain": "acme-robotics.example"
        },
        {
          "name": "Grünwald Logistik",
          "country_code": "DE"
        }
      ],
      "webhook_url": "https://hooks.example/prospect"
    },
    "reply": {
      "id": "2f1f7c7e-0000-4000-8000-000000000019",
      "network_list_id": 7001
    }
  },
  "lists.list": {
    "request": {
      "per_page": 1
    },
    "reply": {
      "lists": [
        {
          "id": "2f1f7c7e-0000-4000-8000-000000000019",
          "name": "Robots",
          "network_list_id": 7001,
          "created_at": "2026-03-10T12:00:12.000Z",
          "updated_at": "2026-03-10T12:00:13.000Z",
          "status": "completed"
        }
      ],
      "pagination": {
        "per_page": 1,
        "total_count": 1,
        "has_more": false,
        "page": 1
      }
    }
  },
  "lists.get": {
    "request": {
      "id": "2f1f7c7e-0000-4000-8000-000000000019"
    },
    "reply": {
      "id": "2f1f7c7e-0000-4000-8000-000000000019",
      "name": "Robots",
      "network_list_id": 7001,
      "created_at": "2026-03-10T12:00:12.000Z",
      "updated_at": "2026-03-10T12:00:13.000Z",
      "status": "completed"
    }
  },
  "personas.list": {
    "request": {},
    "reply": {
      "personas": [
        {
          "id": "2f1f7c7e-0000-4000-8000-000000000006",
          "name": "Buyers",
          "job_titles": [
            "Head of Sales"
          ],
          "excluded_job_titles": [],
          "functions": [],
          "seniority_levels": [
            "220"
          ],
          "created_at": "2026-03-10T12:00:32.000Z",
          "updated_at": "2026-03-10T12:00:32.000Z"
        }
      ],
      "pagination": {
        "per_page": 100,
        "total_count": 1,
        "has_more": false,
        "page": 1
      }
    }
  },
  "personas.get": {
    "request": {
      "uuid": "2f1f7c7e-0000-4000-8000-000000000006"
    },
    "reply": {
      "id": "2f1f7c7e-0000-4000-8000-000000000006",
      "name": "Buyers",
      "job_titles": [
        "Head of Sales"
      ],
      "excluded_job_titles": [],
      "functions": [],
      "seniority_levels": [
        "220"
      ],
      "created_at": "2026-03-10T12:00:32.000Z",
      "updated_at": "2026-03-10T12:00:32.000Z"
    }
  },
  "personas.create": {
    "request": {
      "name": "Buyers",
      "job_titles": [
        "Head of Sales"
      ],
      "seniority_levels": [
        "220"
      ]
    },
    "reply": {
      "id": "2f1f7c7e-0000-4000-8000-000000000006",
      "name": "Buyers",
      "job_titles": [
        "Head of Sales"
      ],
      "excluded_job_titles": [],
      "functions": [],
      "seniority_levels": [
        "220"
      ],
      "created_at": "2026-03-10T12:00:32.000Z",
      "updated_at": "2026-03-10T12:00:32.000Z"
    }
  },
  "personas.delete": {
    "request": {
      "uuid": "2f1f7c7e-0000-4000-8000-000000000006"
    },
    "reply": {
      "message": "Persona deleted"
    }
  },
  "titles.suggest": {
    "request": {
      "job_titles": [
        "Head of Sales"
      ]
    },
    "reply": {
      "suggestions": [
        {
          "jobTitle": "Head of Sales",
          "selectionType": "INCLUDED"
        },
        {
          "jobTitle": "Sales Director",
          "selectionType": "INCLUDED"
        },
        {
          "jobTitle": "Director of Sales",
          "selectionType": "INCLUDED"
        },
        {
          "jobTitle": "VP Sales",
          "selectionType": "INCLUDED"
        },
        {
          "jobTitle": "Vice President of Sales",
          "selectionType": "INCLUDED"
        },
        {
          "jobTitle": "Chief Sales Officer",
          "selectionType": "INCLUDED"
        },
        {
          "jobTitle": "Directeur commercial",
          "selectionType": "INCLUDED"
        },
        {
          "jobTitle": "Directrice commerciale",
          "selectionType": "INCLUDED"
        },
        {
          "jobTitle": "Directeur des ventes",
          "selectionType": "INCLUDED"
        },
        {
          "jobTitle": "Directrice des ventes",
          "selectionType": "INCLUDED"
        },
        {
          "jobTitle": "Responsable commercial",
          "selectionType": "INCLUDED"
        },
        {
          "jobTitle": "Responsable commerciale",
          "selectionType": "INCLUDED"
        },
        {
          "jobTitle": "junior",
          "selectionType": "EXCLUDED"
        },
        {
          "jobTitle": "deputy",
          "selectionType": "EXCLUDED"
        },
        {
          "jobTitle": "adjoint",
          "selectionType": "EXCLUDED"
        },
        {
          "jobTitle": "adjointe",
          "selectionType": "EXCLUDED"
        },
        {
          "jobTitle": "sales engineer",
          "selectionType": "EXCLUDED"
        },
        {
          "jobTitle": "sales operations",
          "selectionType": "EXCLUDED"
        },
        {
          "jobTitle": "administration des ventes",
          "selectionType": "EXCLUDED"
        },
        {
          "jobTitle": "conseiller",
          "selectionType": "EXCLUDED"
        },
        {
          "jobTitle": "assistant",
          "selectionType": "EXCLUDED"
        },
        {
          "jobTitle": "assistante",
          "selectionType": "EXCLUDED"
        },
        {
          "jobTitle": "intern",
          "selectionType": "EXCLUDED"
        },
        {
          "jobTitle": "stagiaire",
          "selectionType": "EXCLUDED"
        },
        {
          "jobTitle": "trainee",
          "selectionType": "EXCLUDED"
        },
        {
          "jobTitle": "alternant",
          "selectionType": "EXCLUDED"
        },
        {
          "jobTitle": "alternante",
          "selectionType": "EXCLUDED"
        },
        {
          "jobTitle": "apprenti",
          "selectionType": "EXCLUDED"
        },
        {
          "jobTitle": "apprentie",
          "selectionType": "EXCLUDED"
        },
        {
          "jobTitle": "former",
          "selectionType": "EXCLUDED"
        },
        {
          "jobTitle": "ancien",
          "selectionType": "EXCLUDED"
        },
        {
          "jobTitle": "retired",
          "selectionType": "EXCLUDED"
        },
        {
          "jobTitle": "retraité",
          "selectionType": "EXCLUDED"
        },
        {
          "jobTitle": "student",
          "selectionType": "EXCLUDED"
        },
        {
          "jobTitle": "étudiant",
          "selectionType": "EXCLUDED"
        }
      ]
    }
  },
  "locations.find": {
    "request": {
      "name": "Nantes",
      "source": "database"
    },
    "reply": [
      {
        "id": "geo:2990969",
        "name": "Nantes",
        "kind": "city",
        "context": "Nantes, Pays de la Loire, France"
      }
    ]
  },
  "credits.show": {
    "request": {},
    "reply": {
      "credits": {
        "enrichment": 943,
        "daily_profile_scraping": 2494,
        "daily_company_import": 2495,
        "monthly_company_import": 24995
      },
      "limits": {
        "daily_profile_scraping": 2500,
        "daily_company_import": 2500,
        "monthly_company_import": 25000
      }
    }
  },
  "credits.consumption": {
    "request": {
      "start_date": "2026-03-01",
      "end_date": "2026-03-31"
    },
    "reply": {
      "credits": 943,
      "start_date": "2026-03-01",
      "end_date": "2026-03-31",
      "credits_consumed": 57
    }
  },
  "account.show": {
    "request": {},
    "reply": {
      "account": {
        "email": "ada@example.com",
        "name": null
      },
      "workspace": {
        "id": "2f1f7c7e-0000-4000-8000-000000000020",
        "name": "Example",
        "plan": "growth"
      },
      "integrations": {
        "network_session_valid": true,
        "premium_session_valid": true
      }
    }
  }
}

/** A body of every event, recorded likewise. */
export const eventExamples: Readonly<Record<EventName, unknown>> = {
  "account_import.record": {
    "event": "account_import.record",
    "id": "2f1f7c7e-0000-4000-8000-000000000021",
    "created_at": "2026-03-10T12:00:56.000Z",
    "custom": {
      "campaign": "spring"
    },
    "ordinal": 1,
    "account": {
      "id": "2f1f7c7e-0000-4000-8000-000000000022",
      "name": "Café Méridien S.A.",
      "cleaned_name": "Café Méridien",
      "domain": "cafe-meridien.example",
      "website": "https://www.cafe-meridien.example/",
      "description": "Coffee roaster with shops in nine countries.",
      "industry": "Food and Beverage Manufacturing",
      "industry_id": "23",
      "company_type": "Private",
      "employee_range": "1001-5000",
      "headcount": 2300,
      "headquarters": "Paris, France",
      "location": "Paris, France",
      "city": "Paris",
      "country": "FR",
      "founded_year": 1976,
      "revenue": 345000000,
      "revenue_currency": "EUR",
      "phone": null,
      "network_id": "900006",
      "network_url": "https://www.network.example/company/cafe-meridien",
      "company_profile_picture": null,
      "technologies": [
        "sap",
        "google-analytics"
      ]
    }
  },
  "account_import.completed": {
    "event": "account_import.completed",
    "id": "2f1f7c7e-0000-4000-8000-000000000001",
    "created_at": "2026-03-10T12:00:13.000Z",
    "custom": {
      "campaign": "spring"
    },
    "accounts": [
      {
        "ordinal": 1,
        "id": "2f1f7c7e-0000-4000-8000-000000000022",
        "name": "Café Méridien S.A.",
        "cleaned_name": "Café Méridien",
        "domain": "cafe-meridien.example",
        "website": "https://www.cafe-meridien.example/",
        "description": "Coffee roaster with shops in nine countries.",
        "industry": "Food and Beverage Manufacturing",
        "industry_id": "23",
        "company_type": "Private",
        "employee_range": "1001-5000",
        "headcount": 2300,
        "headquarters": "Paris, France",
        "location": "Paris, France",
        "city": "Paris",
        "country": "FR",
        "founded_year": 1976,
        "revenue": 345000000,
        "revenue_currency": "EUR",
        "phone": null,
        "network_id": "900006",
        "network_url": "https://www.network.example/company/cafe-meridien",
        "company_profile_picture": null,
        "technologies": [
          "sap",
          "google-analytics"
        ]
      },
      {
        "ordinal": 2,
        "id": "2f1f7c7e-0000-4000-8000-000000000023",
        "name": "Münchner Kaffeewerk",
        "cleaned_name": "Münchner Kaffeewerk",
        "domain": "xn--bcher-kaffee-dlb.example",
        "website": "https://www.bücher-kaffee.example/",
        "description": "Coffee and second-hand books.",
        "industry": "Food and Beverage Manufacturing",
        "industry_id": "23",
        "company_type": "Private",
        "employee_range": "11-50",
        "headcount": 27,
        "headquarters": "München, Germany",
        "location": "München, Germany",
        "city": "München",
        "country": "DE",
        "founded_year": 2013,
        "revenue": 4050000,
        "revenue_currency": "EUR",
        "phone": null,
        "network_id": "900017",
        "network_url": "https://www.network.example/company/bücher-kaffee",
        "company_profile_picture": null,
        "technologies": [
          "shopify"
        ]
      }
    ],
    "total": 2,
    "truncated": false
  },
  "account_import.failed": {
    "event": "account_import.failed",
    "id": "2f1f7c7e-0000-4000-8000-000000000024",
    "created_at": "2026-03-10T12:01:09.000Z",
    "custom": {
      "campaign": "spring"
    },
    "error": "Internal error"
  },
  "lead_search.record": {
    "event": "lead_search.record",
    "id": "2f1f7c7e-0000-4000-8000-000000000025",
    "created_at": "2026-03-10T12:00:56.000Z",
    "custom": {
      "campaign": "spring"
    },
    "ordinal": 1,
    "lead": {
      "first_name": "Lenya",
      "last_name": "Hertel",
      "full_name": "Lenya Hertel",
      "gender": null,
      "title": "Director of Operations",
      "title_description": null,
      "summary": null,
      "most_probable_email": "lenya.hertel@acme-robotics.example",
      "most_probable_email_status": "valid",
      "phones": [
        "+493023125233"
      ],
      "network_profile_url": "https://www.network.example/in/lenya-hertel-0000",
      "premium_profile_url": null,
      "profile_image_url": null,
      "is_premium_network": true,
      "is_open_profile_network": false,
      "is_open_to_work_network": false,
      "connection_degree": null,
      "connections_count": 424,
      "current_positions_count": 1,
      "years_in_position": 2,
      "months_in_position": 6,
      "years_in_company": 2,
      "months_in_company": 6,
      "status": "QUALIFIED",
      "rejection_reason": [],
      "headline": "Director of Operations at Acme Robotics GmbH"
    },
    "company": {
      "id": "2f1f7c7e-0000-4000-8000-000000000003",
      "name": "Acme Robotics GmbH",
      "cleaned_name": "Acme Robotics",
      "domain": "acme-robotics.example",
      "website": "https://www.acme-robotics.example/",
      "description": "Robot arms for small factories.",
      "industry": "Industrial Machinery Manufacturing",
      "industry_id": "135",
      "company_type": "Private",
      "employee_range": "201-500",
      "headcount": 420,
      "headquarters": "München, Germany",
      "location": "München, Germany",
      "city": "München",
      "country": "DE",
      "founded_year": 1998,
      "revenue": 63000000,
      "revenue_currency": "EUR",
      "phone": null,
      "network_id": "900001",
      "network_url": "https://www.network.example/company/acme-robotics",
      "company_profile_picture": null,
      "technologies": [
        "c++",
        "kubernetes",
        "sap"
      ]
    }
  },
  "lead_search.completed": {
    "event": "lead_search.completed",
    "id": "2f1f7c7e-0000-4000-8000-000000000004",
    "created_at": "2026-03-10T12:00:13.000Z",
    "custom": {
      "campaign": "spring"
    },
    "leads": [
      {
        "ordinal": 1,
        "lead": {
          "first_name": "Lenya",
          "last_name": "Hertel",
          "full_name": "Lenya Hertel",
          "gender": null,
          "title": "Director of Operations",
          "title_description": null,
          "summary": null,
          "most_probable_email": "lenya.hertel@acme-robotics.example",
          "most_probable_email_status": "valid",
          "phones": [
            "+493023125233"
          ],
          "network_profile_url": "https://www.network.example/in/lenya-hertel-0000",
          "premium_profile_url": null,
          "profile_image_url": null,
          "is_premium_network": true,
          "is_open_profile_network": false,
          "is_open_to_work_network": false,
          "connection_degree": null,
          "connections_count": 424,
          "current_positions_count": 1,
          "years_in_position": 2,
          "months_in_position": 6,
          "years_in_company": 2,
          "months_in_company": 6,
          "status": "QUALIFIED",
          "rejection_reason": [],
          "headline": "Director of Operations at Acme Robotics GmbH"
        },
        "company": {
          "id": "2f1f7c7e-0000-4000-8000-000000000003",
          "name": "Acme Robotics GmbH",
          "cleaned_name": "Acme Robotics",
          "domain": "acme-robotics.example",
          "website": "https://www.acme-robotics.example/",
          "description": "Robot arms for small factories.",
          "industry": "Industrial Machinery Manufacturing",
          "industry_id": "135",
          "company_type": "Private",
          "employee_range": "201-500",
          "headcount": 420,
          "headquarters": "München, Germany",
          "location": "München, Germany",
          "city": "München",
          "country": "DE",
          "founded_year": 1998,
          "revenue": 63000000,
          "revenue_currency": "EUR",
          "phone": null,
          "network_id": "900001",
          "network_url": "https://www.network.example/company/acme-robotics",
          "company_profile_picture": null,
          "technologies": [
            "c++",
            "kubernetes",
            "sap"
          ]
        }
      },
      {
        "ordinal": 2,
        "lead": {
          "first_name": "Korbinian",
          "last_name": "Bultmann",
          "full_name": "Korbinian Bultmann",
          "gender": null,
          "title": "Chief Technology Officer",
          "title_description": null,
          "summary": null,
          "most_probable_email": "korbinian.bultmann@acme-robotics.example",
          "most_probable_email_status": "valid",
          "phones": [],
          "network_profile_url": "https://www.network.example/in/korbinian-bultmann-000p",
          "premium_profile_url": null,
          "profile_image_url": null,
          "is_premium_network": true,
          "is_open_profile_network": false,
          "is_open_to_work_network": true,
          "connection_degree": null,
          "connections_count": 44,
          "current_positions_count": 1,
          "years_in_position": 0,
          "months_in_position": 11,
          "years_in_company": 0,
          "months_in_company": 11,
          "status": "QUALIFIED",
          "rejection_reason": [],
          "headline": "Chief Technology Officer at Acme Robotics GmbH"
        },
        "company": {
          "id": "2f1f7c7e-0000-4000-8000-000000000003",
          "name": "Acme Robotics GmbH",
          "cleaned_name": "Acme Robotics",
          "domain": "acme-robotics.example",
          "website": "https://www.acme-robotics.example/",
          "description": "Robot arms for small factories.",
          "industry": "Industrial Machinery Manufacturing",
          "industry_id": "135",
          "company_type": "Private",
          "employee_range": "201-500",
          "headcount": 420,
          "headquarters": "München, Germany",
          "location": "München, Germany",
          "city": "München",
          "country": "DE",
          "founded_year": 1998,
          "revenue": 63000000,
          "revenue_currency": "EUR",
          "phone": null,
          "network_id": "900001",
          "network_url": "https://www.network.example/company/acme-robotics",
          "company_profile_picture": null,
          "technologies": [
            "c++",
            "kubernetes",
            "sap"
          ]
        }
      }
    ],
    "total": 2,
    "truncated": false
  },
  "lead_search.failed": {
    "event": "lead_search.failed",
    "id": "2f1f7c7e-0000-4000-8000-000000000026",
    "created_at": "2026-03-10T12:01:09.000Z",
    "custom": {
      "campaign": "spring"
    },
    "error": "Internal error"
  },
  "list_import.completed": {
    "event": "list_import.completed",
    "id": "2f1f7c7e-0000-4000-8000-000000000019",
    "created_at": "2026-03-10T12:00:13.000Z",
    "list": {
      "id": "2f1f7c7e-0000-4000-8000-000000000019",
      "name": "Robots",
      "network_list_id": 7001,
      "created_at": "2026-03-10T12:00:12.000Z",
      "updated_at": "2026-03-10T12:00:13.000Z",
      "status": "completed"
    }
  },
  "list_import.failed": {
    "event": "list_import.failed",
    "id": "2f1f7c7e-0000-4000-8000-000000000027",
    "created_at": "2026-03-10T12:01:09.000Z",
    "list": {
      "id": "2f1f7c7e-0000-4000-8000-000000000027",
      "name": "Robots",
      "network_list_id": 7001,
      "created_at": "2026-03-10T12:01:08.000Z",
      "updated_at": "2026-03-10T12:01:09.000Z",
      "status": "failed"
    },
    "error": "Internal error"
  },
  "contact_enrichment.completed": {
    "event": "contact_enrichment.completed",
    "id": "2f1f7c7e-0000-4000-8000-000000000009",
    "created_at": "2026-03-10T12:00:13.000Z",
    "enrichment_id": "2f1f7c7e-0000-4000-8000-000000000009",
    "first_name": "Lenya",
    "last_name": "Hertel",
    "network_profile_url": "https://www.network.example/in/lenya-hertel-0000",
    "status": "finished",
    "email": "lenya.hertel@acme-robotics.example",
    "email_status": "valid",
    "credits_used": 3,
    "custom": {
      "campaign": "spring"
    }
  },
  "contact_enrichment.failed": {
    "event": "contact_enrichment.failed",
    "id": "2f1f7c7e-0000-4000-8000-000000000028",
    "created_at": "2026-03-10T12:01:09.000Z",
    "custom": {
      "campaign": "spring"
    },
    "error": "Internal error"
  },
  "hiring_import.record": {
    "event": "hiring_import.record",
    "id": "2f1f7c7e-0000-4000-8000-000000000029",
    "created_at": "2026-03-10T12:00:56.000Z",
    "ordinal": 1,
    "account": {
      "id": "2f1f7c7e-0000-4000-8000-000000000030",
      "name": "Terra Properties SARL",
      "cleaned_name": "Terra Properties",
      "domain": "terra-properties.example",
      "website": "https://www.terra-properties.example/",
      "description": "Terra Properties: focused tertiary function for software development.",
      "industry": "Software Development",
      "industry_id": "96",
      "company_type": "Private",
      "employee_range": "1001-5000",
      "headcount": 3439,
      "headquarters": "Saint-Étienne, France",
      "location": "Saint-Étienne, Auvergne-Rhône-Alpes, France",
      "city": "Saint-Étienne",
      "country": "FR",
      "founded_year": 1940,
      "revenue": 835677000,
      "revenue_currency": "EUR",
      "phone": "+33639982287",
      "network_id": "1000384",
      "network_url": "https://www.network.example/company/terra-properties",
      "company_profile_picture": "https://media.network.example/logos/terra-properties.png",
      "technologies": [
        "postgresql",
        "mongodb",
        "svelte",
        "pipedrive",
        "react-native",
        "kubernetes",
        "figma",
        "wordpress"
      ]
    },
    "jobs": [
      {
        "job_title": "VP Engineering",
        "job_url": "https://jobs.terra-properties.example/openings/2",
        "job_location": "Saint-Étienne, France",
        "country_code": "FR",
        "employment_statuses": [
          "Full-time"
        ],
        "date_posted": "2026-02-28",
        "description": "Terra Properties SARL is hiring in Saint-Étienne: VP Engineering. You will work with MySQL in a team of 11 people and report to the head of the department. We offer 30 days of leave, a training budget and 4 days at home each week. You bring 2 years of experience, write clearly and like to finish what you start. We read every application ourselves and answer within two weeks.",
        "hiring_team": [],
        "company": {
          "name": "Terra Properties SARL",
          "domain": "terra-properties.example",
          "network_url": "https://www.network.example/company/terra-properties"
        }
      }
    ]
  },
  "hiring_import.completed": {
    "event": "hiring_import.completed",
    "id": "2f1f7c7e-0000-4000-8000-000000000014",
    "created_at": "2026-03-10T12:00:13.000Z",
    "accounts": [
      {
        "ordinal": 1,
        "id": "2f1f7c7e-0000-4000-8000-000000000030",
        "name": "Terra Properties SARL",
        "cleaned_name": "Terra Properties",
        "domain": "terra-properties.example",
        "website": "https://www.terra-properties.example/",
        "description": "Terra Properties: focused tertiary function for software development.",
        "industry": "Software Development",
        "industry_id": "96",
        "company_type": "Private",
        "employee_range": "1001-5000",
        "headcount": 3439,
        "headquarters": "Saint-Étienne, France",
        "location": "Saint-Étienne, Auvergne-Rhône-Alpes, France",
        "city": "Saint-Étienne",
        "country": "FR",
        "founded_year": 1940,
        "revenue": 835677000,
        "revenue_currency": "EUR",
        "phone": "+33639982287",
        "network_id": "1000384",
        "network_url": "https://www.network.example/company/terra-properties",
        "company_profile_picture": "https://media.network.example/logos/terra-properties.png",
        "technologies": [
          "postgresql",
          "mongodb",
          "svelte",
          "pipedrive",
          "react-native",
          "kubernetes",
          "figma",
          "wordpress"
        ],
        "jobs": [
          {
            "job_title": "VP Engineering",
            "job_url": "https://jobs.terra-properties.example/openings/2",
            "job_location": "Saint-Étienne, France",
            "country_code": "FR",
            "employment_statuses": [
              "Full-time"
            ],
            "date_posted": "2026-02-28",
            "description": "Terra Properties SARL is hiring in Saint-Étienne: VP Engineering. You will work with MySQL in a team of 11 people and report to the head of the department. We offer 30 days of leave, a training budget and 4 days at home each week. You bring 2 years of experience, write clearly and like to finish what you start. We read every application ourselves and answer within two weeks.",
            "hiring_team": [],
            "company": {
              "name": "Terra Properties SARL",
              "domain": "terra-properties.example",
              "network_url": "https://www.network.example/company/terra-properties"
            }
          }
        ]
      }
    ],
    "total": 1,
    "truncated": false
  },
  "hiring_import.failed": {
    "event": "hiring_import.failed",
    "id": "2f1f7c7e-0000-4000-8000-000000000031",
    "created_at": "2026-03-10T12:01:09.000Z",
    "error": "Internal error"
  },
  "stack_import.record": {
    "event": "stack_import.record",
    "id": "2f1f7c7e-0000-4000-8000-000000000032",
    "created_at": "2026-03-10T12:00:56.000Z",
    "ordinal": 1,
    "account": {
      "id": "2f1f7c7e-0000-4000-8000-000000000033",
      "name": "Baltic Maritime & Co. Ltd",
      "cleaned_name": "Baltic Maritime",
      "domain": "baltic-maritime.example",
      "website": "https://www.baltic-maritime.example/",
      "description": "Baltic Maritime: multi-tiered encompassing internet solution for industrial machinery manufacturing.",
      "industry": "Industrial Machinery Manufacturing",
      "industry_id": "135",
      "company_type": "Public",
      "employee_range": "5001-10000",
      "headcount": 5076,
      "headquarters": "Manchester, United Kingdom",
      "location": "Manchester, England, United Kingdom",
      "city": "Manchester",
      "country": "GB",
      "founded_year": 1914,
      "revenue": 593892000,
      "revenue_currency": "GBP",
      "phone": "+442079460949",
      "network_id": "1000183",
      "network_url": "https://www.network.example/company/baltic-maritime",
      "company_profile_picture": "https://media.network.example/logos/baltic-maritime.png",
      "technologies": [
        "postgresql",
        "kubernetes",
        "react",
        "aws",
        "vue"
      ]
    },
    "technologies_found": [
      {
        "technology_name": "Kubernetes",
        "job_mentions": 40,
        "confidence": "high"
      },
      {
        "technology_name": "React",
        "job_mentions": 0,
        "confidence": "high"
      }
    ]
  },
  "stack_import.completed": {
    "event": "stack_import.completed",
    "id": "2f1f7c7e-0000-4000-8000-000000000015",
    "created_at": "2026-03-10T12:00:13.000Z",
    "accounts": [
      {
        "ordinal": 1,
        "id": "2f1f7c7e-0000-4000-8000-000000000033",
        "name": "Baltic Maritime & Co. Ltd",
        "cleaned_name": "Baltic Maritime",
        "domain": "baltic-maritime.example",
        "website": "https://www.baltic-maritime.example/",
        "description": "Baltic Maritime: multi-tiered encompassing internet solution for industrial machinery manufacturing.",
        "industry": "Industrial Machinery Manufacturing",
        "industry_id": "135",
        "company_type": "Public",
        "employee_range": "5001-10000",
        "headcount": 5076,
        "headquarters": "Manchester, United Kingdom",
        "location": "Manchester, England, United Kingdom",
        "city": "Manchester",
        "country": "GB",
        "founded_year": 1914,
        "revenue": 593892000,
        "revenue_currency": "GBP",
        "phone": "+442079460949",
        "network_id": "1000183",
        "network_url": "https://www.network.example/company/baltic-maritime",
        "company_profile_picture": "https://media.network.example/logos/baltic-maritime.png",
        "technologies": [
          "postgresql",
          "kubernetes",
          "react",
          "aws",
          "vue"
        ],
        "technologies_found": [
          {
            "technology_name": "Kubernetes",
            "job_mentions": 40,
            "confidence": "high"
          },
          {
            "technology_name": "React",
            "job_mentions": 0,
            "confidence": "high"
          }
        ]
      }
    ],
    "total": 1,
    "truncated": false
  },
  "stack_import.failed": {
    "event": "stack_import.failed",
    "id": "2f1f7c7e-0000-4000-8000-000000000034",
    "created_at": "2026-03-10T12:01:09.000Z",
    "error": "Internal error"
  },
  "growth_import.record": {
    "event": "growth_import.record",
    "id": "2f1f7c7e-0000-4000-8000-000000000035",
    "created_at": "2026-03-10T12:00:56.000Z",
    "ordinal": 1,
    "account": {
      "id": "2f1f7c7e-0000-4000-8000-000000000036",
      "name": "Kinoshita Motors 株式会社",
      "cleaned_name": "Kinoshita Motors",
      "domain": "kinoshita.example",
      "website": "https://www.kinoshita.example/",
      "description": "Drive trains for light trucks.",
      "industry": "Automotive",
      "industry_id": "4",
      "company_type": "Public",
      "employee_range": "10001+",
      "headcount": 12800,
      "headquarters": "Nagoya, Japan",
      "location": "Nagoya, Japan",
      "city": "Nagoya",
      "country": "JP",
      "founded_year": 1948,
      "revenue": 1920000000,
      "revenue_currency": "EUR",
      "phone": null,
      "network_id": "900013",
      "network_url": "https://www.network.example/company/kinoshita",
      "company_profile_picture": null,
      "technologies": [
        "c++",
        "sap",
        "aws"
      ]
    }
  },
  "growth_import.completed": {
    "event": "growth_import.completed",
    "id": "2f1f7c7e-0000-4000-8000-000000000016",
    "created_at": "2026-03-10T12:00:13.000Z",
    "accounts": [
      {
        "ordinal": 1,
        "id": "2f1f7c7e-0000-4000-8000-000000000036",
        "name": "Kinoshita Motors 株式会社",
        "cleaned_name": "Kinoshita Motors",
        "domain": "kinoshita.example",
        "website": "https://www.kinoshita.example/",
        "description": "Drive trains for light trucks.",
        "industry": "Automotive",
        "industry_id": "4",
        "company_type": "Public",
        "employee_range": "10001+",
        "headcount": 12800,
        "headquarters": "Nagoya, Japan",
        "location": "Nagoya, Japan",
        "city": "Nagoya",
        "country": "JP",
        "founded_year": 1948,
        "revenue": 1920000000,
        "revenue_currency": "EUR",
        "phone": null,
        "network_id": "900013",
        "network_url": "https://www.network.example/company/kinoshita",
        "company_profile_picture": null,
        "technologies": [
          "c++",
          "sap",
          "aws"
        ]
      }
    ],
    "total": 1,
    "truncated": false
  },
  "growth_import.failed": {
    "event": "growth_import.failed",
    "id": "2f1f7c7e-0000-4000-8000-000000000037",
    "created_at": "2026-03-10T12:01:09.000Z",
    "error": "Internal error"
  },
  "lookalike_import.record": {
    "event": "lookalike_import.record",
    "id": "2f1f7c7e-0000-4000-8000-000000000038",
    "created_at": "2026-03-10T12:00:56.000Z",
    "ordinal": 1,
    "account": {
      "id": "2f1f7c7e-0000-4000-8000-000000000039",
      "name": "Verde Biotech B.V.",
      "cleaned_name": "Verde Biotech",
      "domain": "verde-biotech.example",
      "website": "https://www.verde-biotech.example/",
      "description": "Verde Biotech: diverse contextually-based leverage for industrial machinery manufacturing.",
      "industry": "Industrial Machinery Manufacturing",
      "industry_id": "135",
      "company_type": "Private",
      "employee_range": "201-500",
      "headcount": 265,
      "headquarters": "Eindhoven, Netherlands",
      "location": "Eindhoven, Noord-Brabant, Netherlands",
      "city": "Eindhoven",
      "country": "NL",
      "founded_year": 1909,
      "revenue": 83475000,
      "revenue_currency": "EUR",
      "phone": null,
      "network_id": "1000162",
      "network_url": "https://www.network.example/company/verde-biotech",
      "company_profile_picture": "https://media.network.example/logos/verde-biotech.png",
      "technologies": [
        "c#",
        "sap",
        "django"
      ]
    },
    "similarity": {
      "score": 0.6558,
      "industry": 1,
      "size": 0.8,
      "country": 0,
      "technologies": 0.191,
      "growth": 0.98
    }
  },
  "lookalike_import.completed": {
    "event": "lookalike_import.completed",
    "id": "2f1f7c7e-0000-4000-8000-000000000017",
    "created_at": "2026-03-10T12:00:13.000Z",
    "accounts": [
      {
        "ordinal": 1,
        "id": "2f1f7c7e-0000-4000-8000-000000000039",
        "name": "Verde Biotech B.V.",
        "cleaned_name": "Verde Biotech",
        "domain": "verde-biotech.example",
        "website": "https://www.verde-biotech.example/",
        "description": "Verde Biotech: diverse contextually-based leverage for industrial machinery manufacturing.",
        "industry": "Industrial Machinery Manufacturing",
        "industry_id": "135",
        "company_type": "Private",
        "employee_range": "201-500",
        "headcount": 265,
        "headquarters": "Eindhoven, Netherlands",
        "location": "Eindhoven, Noord-Brabant, Netherlands",
        "city": "Eindhoven",
        "country": "NL",
        "founded_year": 1909,
        "revenue": 83475000,
        "revenue_currency": "EUR",
        "phone": null,
        "network_id": "1000162",
        "network_url": "https://www.network.example/company/verde-biotech",
        "company_profile_picture": "https://media.network.example/logos/verde-biotech.png",
        "technologies": [
          "c#",
          "sap",
          "django"
        ],
        "similarity": {
          "score": 0.6558,
          "industry": 1,
          "size": 0.8,
          "country": 0,
          "technologies": 0.191,
          "growth": 0.98
        }
      }
    ],
    "total": 1,
    "truncated": false
  },
  "lookalike_import.failed": {
    "event": "lookalike_import.failed",
    "id": "2f1f7c7e-0000-4000-8000-000000000040",
    "created_at": "2026-03-10T12:01:09.000Z",
    "error": "Internal error"
  }
}
